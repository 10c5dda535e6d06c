internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Which reminders were emitted.
    static let reminders = PersonalData([
        PersonalTable(
            "reminder_schedule",
            users: ["user_id": .delete],
            growth: .perUser,
            exports: [
                PersonalExport(
                    "reminders",
                    [
                        .value("window_opened", "opened_for"), .value("window_closing", "closing_for"),
                        .value("at_risk", "ending_for"),
                    ]
                ) { "user_id = \($0)" }
            ]
        ),
        PersonalTable(
            "solo_reminder",
            users: ["user_id": .delete],
            growth: .perUser,
            exports: [
                PersonalExport("solo_reminders", ["handled_date", "missed_date", "broken_at", "lost_count"]) { "user_id = \($0)" }
            ]
        ),
    ])
}
