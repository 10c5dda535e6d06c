internal import Bus
internal import Database
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import Outbox
package import ServiceRuntime

/// What open apps are sent at once (NO-7): a user's events in their order, and which streams of the user are open.
package enum LiveFeature {
    /// How long events are kept for a client that comes back.
    static let kept = Interval.minutes(10)

    package static let feature = ServiceFeature(
        "live",
        migrations: [
            MigrationSet("live_lease", [Migration(version: 1, name: "live_lease", sql: PackageResources.V0001_live_lease_sql)])
        ],
        personalData: [.leases]
    ) { environment in
        let live = try await LiveEvents(environment)
        let events = LiveEventRepository(database: environment.database)
        let leases = LeaseRepository(database: environment.database)
        return FeatureParts(
            endpoints: LiveService.endpoints(
                watch: Watch(database: environment.database),
                renewWatches: RenewWatches(leases: leases)
            ),
            consumers: StreakConsumers(live: live).all,
            jobs: [
                Job("live_events", every: .seconds(2)) { _ in try await live.publishLeft() },
                Job("old_live_events", every: .seconds(60)) { now in try await events.purge(before: now - kept) },
                Job("old_live_leases", every: .seconds(600)) { _ in try await leases.purge() },
            ]
        )
    }
}
