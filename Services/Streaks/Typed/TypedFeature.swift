internal import Database
internal import Kernel
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// Five streaks of activities for each user, with multipliers and coins (TS-1, TS-2).
package enum TypedFeature {
    package static let name = "typed"

    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            name,
            migrations: [MigrationSet("typed", [Migration(version: 1, name: "typed", sql: PackageResources.V0001_typed_sql)])],
            personalData: [.typed]
        ) { environment in
            let core = try StreaksCore(environment, extensions)
            let views = TypedViews(store: core.store, profiles: core.profiles, clock: environment.clock)
            let activities = Activities(writer: core.writer)
            return FeatureParts(
                endpoints: TypedService.endpoints(
                    listTyped: ListTyped(views: views),
                    recordActivity: RecordActivity(
                        activities: activities,
                        profiles: core.profiles,
                        mutations: environment.mutations
                    ),
                    getTypedHistory: GetTypedHistory(views: views),
                    getTypedCalendar: GetTypedCalendar(views: views),
                    exportTypedCalendar: ExportTypedCalendar(views: views)
                ),
                consumers: ActivityConsumers(activities: activities, profiles: core.profiles).handlers
            )
        }
    }

    /// What typed streaks add to the store: their events.
    package static let kinds: [any StreakKindEvents] = StreakKind.typed.map { SoloEvents($0, feature: name) }
}
