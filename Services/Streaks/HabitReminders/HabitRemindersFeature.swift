internal import Database
internal import Kernel
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// Reminders of habits: at the time that a user set, in the evening while something is open, and words of motivation for who wants them; and
/// what is tapped on them (HA-5, HA-17, HA-18).
package enum HabitRemindersFeature {
    /// How long what was tapped is kept: longer than a date takes completions.
    private static let kept = Interval.days(10)

    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            "habit_reminders",
            migrations: [
                MigrationSet(
                    "habit_reminders",
                    [Migration(version: 1, name: "habit_reminders", sql: PackageResources.V0001_habit_reminders_sql)]
                )
            ],
            personalData: [.habitReminders]
        ) { environment in
            let core = try StreaksCore(environment, extensions)
            let habits = HabitStore(core, work: environment.work)
            return FeatureParts(
                endpoints: HabitRemindersService.endpoints(
                    answerReminder: AnswerReminder(habits: habits, mutations: environment.mutations)
                ),
                consumers: [MotivationConsumer.handler],
                jobs: [
                    HabitReminderJob(work: environment.work, store: core.store).job,
                    Job("old_habit_reminder_answers", every: .seconds(600)) { now in
                        try await ReminderAnswerRepository.purge(before: now - kept, core.store.database)
                    },
                ]
            )
        }
    }
}
