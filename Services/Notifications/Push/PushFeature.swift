internal import Bus
internal import Database
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import Outbox
internal import OutgoingHTTP
package import Runtime
package import ServiceRuntime

/// Devices, preferences, and pushes through Expo's service (NO-2, NO-3, NO-5, NO-6).
package enum PushFeature {
    package static let pushURL = Setting(
        "notifications.push-url",
        default: "",
        help:
            "Expo's push service, https://exp.host/--/api/v2/push, or one that speaks the same; without it nothing is pushed. Plain http is allowed."
    )
    package static let pushToken = Setting<String>(
        "notifications.push-token",
        default: nil,
        isSecret: true,
        help: "Access token of the Expo project, where it asks for one."
    )
    package static let pushProject = Setting(
        "notifications.push-project",
        default: "",
        help:
            "The Expo project, @owner/slug. Without it, of a request with tokens of several projects the one with the most counts as ours."
    )
    package static let pushRate = Setting(
        "notifications.push-rate",
        default: ProviderRepository.defaultRate,
        help: "Pushes a second that all replicas together hand over, 1 to 100,000. Expo takes 600 from a project."
    )

    package static let feature = ServiceFeature(
        "push",
        settings: [LinkSettings.publicURL, CoreFeature.deepLinkBase, pushURL, pushToken, pushProject, pushRate],
        migrations: [
            MigrationSet(
                "push",
                [
                    Migration(version: 1, name: "push", sql: PackageResources.V0001_push_sql),
                    Migration(version: 2, name: "test_pushes", sql: PackageResources.V0002_test_pushes_sql),
                ]
            )
        ],
        personalData: [.push]
    ) { environment in
        let core = try await NotificationsCore(environment)
        let mutations = environment.mutations
        return FeatureParts(
            endpoints: PushService.endpoints(
                registerDevice: RegisterDevice(mutations: mutations),
                removeDevice: RemoveDevice(mutations: mutations),
                getPreferences: GetPreferences(log: core.log),
                updatePreferences: UpdatePreferences(mutations: mutations),
                sendTest: SendTest(writer: core.writer, mutations: mutations)
            ),
            consumers: SessionConsumer.all,
            jobs: try jobs(core, environment)
        )
    }

    private static func jobs(_ core: NotificationsCore, _ environment: ServiceEnvironment) throws -> [Job] {
        let client = try client(core, environment)
        let (work, ids) = (environment.work, environment.ids)
        let outcomes = PushOutcomes(
            core: core,
            work: work,
            ids: ids,
            logger: environment.logger,
            project: try environment.settings.get(pushProject)
        )
        let database = environment.database
        let cleaning = [
            Job("old_pushes", every: .seconds(600)) { now in try await DeliveryRepository.purge(before: now - .days(10), database)
            },
            Job("old_push_days", every: .seconds(600)) { now in
                try await DeliveryRepository.purgeDays(before: Zone.utc.date(at: now - .days(3)), database)
            },
            Job("old_test_pushes", every: .seconds(600)) { now in try await TestPushRepository.purge(now: now, database) },
            Job("old_ended_sessions", every: .seconds(600)) { now in
                try await EndedSessionRepository.purge(before: now - .days(1), database)
            },
        ]
        let pushes = PushJob(core: core, client: client, outcomes: outcomes, work: work, ids: ids)
        guard let client else { return [pushes.job] + cleaning }
        return [pushes.job, ReceiptJob(core: core, client: client, outcomes: outcomes, work: work, ids: ids).job] + cleaning
    }

    /// nil when pushes are off.
    private static func client(_ core: NotificationsCore, _ environment: ServiceEnvironment) throws -> ExpoClient? {
        var base = try environment.settings.get(pushURL)
        while base.hasSuffix("/") { base.removeLast() }
        guard !base.isEmpty else { return nil }
        guard base.hasPrefix("https://") || base.hasPrefix("http://") else {
            throw Settings.Invalid("--notifications-push-url must be an https or http address.")
        }
        let rate = try environment.settings.get(pushRate)
        guard (1...100_000).contains(rate) else {
            throw Settings.Invalid("--notifications-push-rate must be from 1 to 100,000.")
        }
        return ExpoClient(
            // Without connections that stay open: those of all replicas together would be more than the provider wants.
            http: OutgoingHTTP(threads: PushJob.lanes + 1, allowsPlain: true),
            base: base,
            token: try environment.settings.find(pushToken),
            rate: rate,
            metrics: core.metrics,
            logger: environment.logger
        )
    }
}
