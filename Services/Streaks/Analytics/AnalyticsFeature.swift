internal import Bus
internal import Database
internal import Kernel
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// Figures about streaks for admins (TS-5), kept up to date from events.
package enum AnalyticsFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            "analytics",
            migrations: [
                MigrationSet(
                    "analytics",
                    [
                        Migration(version: 1, name: "analytics", sql: PackageResources.V0001_analytics_sql),
                        Migration(version: 2, name: "mutual", sql: PackageResources.V0002_mutual_sql),
                    ]
                )
            ],
            personalData: [.analytics]
        ) { environment in
            let core = try StreaksCore(environment, extensions)
            let report = AnalyticsReport(database: environment.database, clock: environment.clock)
            return FeatureParts(
                endpoints: AnalyticsService.endpoints(
                    getStreakAnalytics: GetStreakAnalytics(report: report),
                    exportStreakAnalytics: ExportStreakAnalytics(report: report)
                ),
                consumers: MutualConsumers.all + StreakConsumers.all + TeamConsumers.all + BillingConsumers.all
                    + NotificationConsumers.all + CardConsumers.all,
                jobs: [
                    FigureJob(store: core.store, work: environment.work).job,
                    Job("old_active_users", every: .seconds(600)) { now in
                        try await ActiveUserRepository.purge(today: Zone.utc.date(at: now), environment.database)
                    },
                ]
            )
        }
    }
}
