internal import Database
internal import Kernel
internal import MediaAPI
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// What streaks come to: the milestones of every kind, for cards (MC-1); totals, achievements, statistics and the year of mutual ones (MS-7).
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
            let streaks = CelebratedStreaks(
                store: core.store,
                blocks: core.blocks,
                circles: core.circles,
                clock: environment.clock
            )
            let today = Today(profiles: core.profiles, clock: environment.clock)
            return FeatureParts(
                endpoints: ProgressService.endpoints(
                    getAchievements: GetAchievements(database: environment.database),
                    getStats: GetStats(writer: core.writer, work: environment.work, today: today),
                    getYearCalendar: GetYearCalendar(database: environment.database, today: today),
                    getMilestoneData: GetMilestoneData(
                        streaks: streaks,
                        profiles: core.profiles,
                        cards: CardsClient(environment.bus)
                    ),
                    getMilestoneFacts: GetMilestoneFacts(streaks: streaks)
                ),
                jobs: [TotalsJob(store: core.store, work: environment.work).job]
            )
        }
    }
}
