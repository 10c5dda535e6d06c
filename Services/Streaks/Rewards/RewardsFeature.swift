internal import Database
internal import Kernel
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// What check-ins earn: badges, unlocks, the Hall of Fame, the medal, a free repair a year (CI-5).
package enum RewardsFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            "rewards",
            migrations: [
                MigrationSet("rewards", [Migration(version: 1, name: "rewards", sql: PackageResources.V0001_rewards_sql)])
            ],
            personalData: [.rewardsFeature]
        ) { environment in
            let core = try StreaksCore(environment, extensions)
            let views = RewardViews(database: environment.database, clock: environment.clock)
            let mutations = environment.mutations
            return FeatureParts(
                endpoints: RewardsService.endpoints(
                    getBadges: GetBadges(database: environment.database, clock: environment.clock),
                    celebrateMilestone: CelebrateMilestone(mutations: mutations),
                    getUnlocks: GetUnlocks(views: views),
                    setUnlock: SetUnlock(mutations: mutations),
                    requestMedal: RequestMedal(mutations: mutations),
                    getHallOfFame: GetHallOfFame(
                        database: environment.database,
                        profiles: core.profiles,
                        clock: environment.clock
                    ),
                    listMedals: ListMedals(
                        database: environment.database,
                        profiles: core.profiles,
                        work: environment.work
                    ),
                    updateMedal: UpdateMedal(profiles: core.profiles, mutations: mutations)
                ),
                consumers: [PlanConsumer.handler],
                jobs: [YearlyRepairJob(database: environment.database, work: environment.work).job]
            )
        }
    }
}
