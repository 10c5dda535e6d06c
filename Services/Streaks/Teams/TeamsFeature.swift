internal import Bus
internal import Database
internal import Kernel
internal import Outbox
internal import Runtime
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore

/// The streaks of circles (TS-4).
package enum TeamsFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            "teams",
            settings: [LinkSettings.publicURL],
            migrations: [
                MigrationSet("teams", [Migration(version: 1, name: "teams", sql: PackageResources.V0001_teams_sql)])
            ],
            personalData: [.teams]
        ) { environment in
            let core = try StreaksCore(environment, extensions)
            let checkIns = TeamCheckIns(writer: core.writer, circles: core.circles)
            let views = TeamViews(core: core, work: environment.work, clock: environment.clock)
            return FeatureParts(
                endpoints: TeamsService.endpoints(
                    checkInToCircle: CheckInToCircle(
                        circles: core.circles,
                        checkIns: checkIns,
                        mutations: environment.mutations
                    ),
                    getTeamStreak: GetTeamStreak(circles: core.circles, views: views),
                    listCircleFeed: ListCircleFeed(
                        circles: core.circles,
                        feed: FeedRepository(database: core.store.database),
                        profiles: core.profiles
                    )
                ),
                consumers: CheckInConsumers(checkIns: checkIns).handlers,
                jobs: [TeamReminderJob(work: environment.work, store: core.store).job]
            )
        }
    }
}
