internal import Kernel
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore

/// Statistics and insights of habits (HA-4, HA-16, HA-17). It writes nothing: what became of each date is `Core`'s.
package enum HabitStatisticsFeature {
    package static let name = "habit_statistics"

    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(name) { environment in
            let reader = StatisticsReader(habits: HabitStore(try StreaksCore(environment, extensions), work: environment.work))
            return FeatureParts(
                endpoints: HabitStatisticsService.endpoints(
                    getStatisticsOverview: GetStatisticsOverview(reader: reader),
                    getHabitStatistics: GetHabitStatistics(reader: reader),
                    getInsightsOverview: GetInsightsOverview(reader: reader),
                    getHabitInsights: GetHabitInsights(reader: reader),
                    getHabitsCalendar: GetHabitsCalendar(reader: reader)
                )
            )
        }
    }
}
