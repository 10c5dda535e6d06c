internal import Bus
internal import Database
internal import Kernel
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore

/// Habits on devices that are offline at times (HA-7).
package enum HabitSyncFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            "habit_sync",
            migrations: [
                MigrationSet(
                    "habit_sync",
                    [
                        Migration(version: 1, name: "habit_sync", sql: PackageResources.V0001_habit_sync_sql),
                        Migration(version: 2, name: "newest_answers", sql: PackageResources.V0002_newest_answers_sql),
                    ]
                )
            ],
            personalData: [.habitSync]
        ) { environment in
            let habits = HabitStore(try StreaksCore(environment, extensions), work: environment.work)
            return FeatureParts(
                endpoints: HabitSyncService.endpoints(sync: Sync(habits: habits, mutations: environment.mutations)),
                jobs: SyncPurge(database: environment.database).jobs
            )
        }
    }
}
