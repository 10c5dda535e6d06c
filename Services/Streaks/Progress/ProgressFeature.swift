internal import Database
internal import Kernel
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// What all mutual streaks of a user come to: totals, achievements, statistics, the year (MS-7).
package enum ProgressFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            "progress",
            migrations: [
                MigrationSet("progress", [Migration(version: 1, name: "progress", sql: PackageResources.V0001_progress_sql)])
            ],
            personalData: [.progress]
        ) { environment in
            let core = try StreaksCore(environment, extensions)
            let today = Today(profiles: core.profiles, clock: environment.clock)
            return FeatureParts(
                endpoints: ProgressService.endpoints(
                    getAchievements: GetAchievements(database: environment.database),
                    getStats: GetStats(writer: core.writer, work: environment.work, today: today),
                    getYearCalendar: GetYearCalendar(database: environment.database, today: today)
                ),
                jobs: [TotalsJob(store: core.store, work: environment.work).job]
            )
        }
    }
}
