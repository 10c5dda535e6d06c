internal import Database
package import Kernel
internal import NotificationsDomain
internal import Replicas
package import Runtime
package import ServiceRuntime

/// What the features of `notifications` share: the log, devices, preferences, and the one write path. Loaded by every replica.
package enum CoreFeature {
    /// Where the links of notifications begin.
    package static let deepLinkBase = Setting(
        "notifications.deep-link-base",
        default: "streaksnap://",
        help:
            "What the links of notifications begin with: the app's scheme, streaksnap://, or an https address that opens the app."
    )

    /// How far reminders of one instant are spread.
    package static let pushSpread = Setting(
        "notifications.push-spread",
        default: PushRule.mostSpread,
        help: "Pushes of reminders that are due in one instant leave over so many seconds, 0 to \(PushRule.mostSpread)."
    )

    package static let feature = ServiceFeature(
        "core",
        settings: [LinkSettings.publicURL, deepLinkBase, pushSpread],
        migrations: [
            MigrationSet("profile_replica", ProfileReplica.migrations), MigrationSet("block_replica", BlockReplica.migrations),
            MigrationSet(
                "core",
                [
                    Migration(version: 1, name: "notifications", sql: PackageResources.V0001_notifications_sql),
                    Migration(version: 2, name: "recovery_balance", sql: PackageResources.V0002_recovery_balance_sql),
                    Migration(version: 3, name: "engagement", sql: PackageResources.V0003_engagement_sql),
                    Migration(version: 4, name: "habits", sql: PackageResources.V0004_habits_sql),
                    Migration(version: 5, name: "deadlines", sql: PackageResources.V0005_deadlines_sql),
                ]
            ),
            LiveTables.migrations,
        ],
        personalData: [
            .core, BalanceRepository.personalData, LiveTables.personalData, ProfileReplica.personalData,
            BlockReplica.personalData,
        ],
        isAlwaysLoaded: true
    ) { environment in
        let core = try await NotificationsCore(environment)
        return FeatureParts(
            consumers: [core.writer.profiles.handler()] + core.writer.blocks.handlers()
                + BlockConsumers(log: core.log, live: core.live).all + BalanceConsumers.all + LifecycleConsumers.all(core.writer),
            jobs: [
                core.writer.blocks.snapshotJob,
                Job("old_notifications", every: .seconds(600)) { now in try await core.log.purge(before: now - .days(90)) },
            ]
        )
    }
}

/// What the features of `notifications` share.
package struct NotificationsCore: Sendable {
    package let log: NotificationRepository
    package let writer: NotificationWriter
    package let metrics: PushMetrics
    package let live: LiveEvents
    /// The product clock: what entries say depends on it.
    package let clock: any Clock
    private let linkBase: String

    /// From the parts of a replica.
    ///
    /// - Throws: `Settings.Invalid`.
    package init(_ environment: ServiceEnvironment) async throws {
        let database = environment.database
        clock = environment.clock
        let spread = try environment.settings.get(CoreFeature.pushSpread)
        guard (0...PushRule.mostSpread).contains(spread) else {
            throw Settings.Invalid("--notifications-push-spread must be from 0 to \(PushRule.mostSpread).")
        }
        log = NotificationRepository(database: database)
        metrics = PushMetrics(environment.metrics)
        live = try await LiveEvents(environment)
        writer = NotificationWriter(
            profiles: ProfileReplica(
                database: database,
                bus: environment.bus,
                avatars: AvatarLinks(base: try environment.settings.get(LinkSettings.publicURL))
            ),
            blocks: BlockReplica(database: database, bus: environment.bus),
            metrics: metrics,
            log: log,
            live: live,
            spread: spread
        )
        linkBase = try environment.settings.get(CoreFeature.deepLinkBase)
    }

    /// The whole link of a path that the app opens.
    package func link(_ path: String) -> String {
        linkBase.hasSuffix("/") ? linkBase + path : "\(linkBase)/\(path)"
    }
}
