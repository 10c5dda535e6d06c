package import StreaksCore
package import ServiceRuntime
/// Stub
package enum HabitsFeature { package static let events = HabitEvents(feature: "habits")
package static func feature(_ extensions: StreakExtensions) -> ServiceFeature { ServiceFeature("habits") { _ in FeatureParts() } } }
