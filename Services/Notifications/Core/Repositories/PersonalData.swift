internal import Kernel
internal import Replicas
internal import ServiceRuntime

extension PersonalData {
    /// The log, preferences, devices and pushes. Entries that a block hides are left out of the export (SO-7): they come back when it ends.
    /// Entries of other users' logs that name the user are deleted too.
    static let core = PersonalData([
        log, preferences, device, delivery,
        PersonalTable("push_day", users: ["user_id": .delete], growth: .bounded("one for each date; for 3 days")),
    ])

    /// Without texts: they are made when they are read, in the language of the reader.
    private static let log = PersonalTable(
        "notification",
        users: ["user_id": .delete, "actor_id": .delete],
        growth: .bounded("what happens to the user, which other limits bound; for 90 days"),
        references: ["id", "streak_id", "friendship_id", "circle_id", "habit_id"],
        exports: [
            PersonalExport(
                "notifications",
                [
                    "id", .value("type", "kind"), "wording", "count", "others", "amount", "subject", "emoji", "actor_id",
                    "streak_id", "friendship_id", "circle_id", "habit_id", "on_date", "deadline", "created_at", "read_at",
                ]
            ) { "user_id = \($0) AND \(NotificationRepository.isShown(to: $0))" }
        ]
    )

    private static let preferences = PersonalTable(
        "push_preferences",
        users: ["user_id": .delete],
        growth: .perUser,
        exports: [
            PersonalExport(
                "notification_preferences",
                [
                    "window_alerts", "window_closing", "streak_at_risk", "streak_broken", "friend_posted", "milestone",
                    "friend_requests", "nudges", "enabled", "habit_reminders", "motivation", "quiet_hours", "quiet_start",
                    "quiet_end",
                ]
            ) { "user_id = \($0)" }
        ]
    )

    /// Without the token: who has it can push to the device.
    private static let device = PersonalTable(
        "device",
        users: ["user_id": .delete],
        growth: .bounded("the newest 20"),
        references: ["id", "session_id"],
        exports: [
            PersonalExport("devices", ["platform", "app_version", "locale", "registered_at"]) { "user_id = \($0)" }
        ]
    )

    private static let delivery = PersonalTable(
        "delivery",
        users: ["user_id": .delete],
        growth: .bounded("one for each device and notification; for 10 days"),
        references: ["id", "notification_id", "device_id"],
        exports: [
            PersonalExport("pushes", ["notification_id", "state", "sent_at", "reason", "created_at"]) { "user_id = \($0)" }
        ]
    )
}
