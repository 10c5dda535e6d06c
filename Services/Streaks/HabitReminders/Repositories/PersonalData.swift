internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Which reminders were sent and how they were answered.
    static let habitReminders = PersonalData([
        PersonalTable(
            "habit_reminder_schedule",
            users: ["user_id": .delete],
            growth: .perUser,
            exports: [
                PersonalExport(
                    "habit_reminder_settings",
                    ["evening_date", "motivation_since", "motivation_date", "sent_date", "sent"]
                ) { "user_id = \($0)" }
            ]
        ),
        PersonalTable(
            "habit_reminder",
            users: ["user_id": .delete],
            growth: .bounded("one for each habit"),
            references: ["streak_id"],
            exports: [
                PersonalExport("habit_reminders", ["streak_id", "handled_date", "snooze_at"]) { "user_id = \($0)" }
            ]
        ),
        PersonalTable(
            "habit_reminder_answer",
            users: ["user_id": .delete],
            growth: .bounded("a few for each habit and date; for 10 days"),
            references: ["streak_id"],
            exports: [
                PersonalExport("habit_reminder_answers", ["streak_id", "on_date", "number", "action", "answered_at"]) {
                    "user_id = \($0)"
                }
            ]
        ),
    ])
}
