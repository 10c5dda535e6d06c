internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Habits are their user's alone: deleted with the account.
    static let habits = PersonalData(
        [
            PersonalTable(
                "habit_account",
                users: ["user_id": .delete],
                growth: .perUser,
                exports: [
                    PersonalExport(
                        "habit_settings",
                        [
                            "first_day_of_week", "theme", "accent_color", "haptics", "animations", "onboarded", "reminder_minute",
                            "backed_up_at", "created_at",
                        ]
                    ) { "user_id = \($0)" }
                ]
            ),
            PersonalTable(
                "habit_category",
                users: ["user_id": .delete],
                growth: .bounded("105: the five of the start and 100"),
                references: ["id"],
                exports: [
                    PersonalExport("habit_categories", ["id", "name", "color", "icon", "position", "created_at"]) {
                        "user_id = \($0)"
                    }
                ]
            ),
            PersonalTable(
                "habit",
                users: ["user_id": .delete],
                growth: .bounded("2,000, those deleted within 30 days included: `HabitLimits.mostStored`"),
                references: ["id", "streak_id", "category_id"],
                exports: [
                    PersonalExport(
                        "habits",
                        [
                            "id", "streak_id", "name", "description", "color", "icon", "category_id", "unit", "reminder_minute",
                            "reminder_days", "snooze_date", "snoozes", "position", "archived_at", "deleted_at", "created_at",
                            "updated_at",
                        ]
                    ) { "user_id = \($0)" }
                ]
            ),
            ledger(
                "habit_version",
                "habit_schedules",
                "one for each date that changed it",
                ["from_date", "schedule", "numbers", "anchor", "target", "week_start"]
            ),
            PersonalTable(
                "habit_completion",
                users: ["user_id": .delete],
                growth: .quota(.completions),
                references: ["id", "streak_id", "photo_id"],
                exports: [
                    PersonalExport(
                        "habit_completions",
                        [
                            "id", "streak_id", "on_date", "amount", "note", "mood", "done_at", "received_at", "updated_at",
                            "photo_id",
                        ]
                    ) { "user_id = \($0)" }
                ]
            ),
            // Media exports the photos and deletes them itself.
            PersonalTable(
                "habit_photo",
                users: ["user_id": .delete],
                growth: .bounded("one for each date of a habit that has a completion"),
                references: ["habit_id", "photo_id"]
            ),
            PersonalTable(
                "habit_skip",
                users: ["user_id": .delete],
                growth: .bounded("one for each date since 2000 of a habit, of which an account stores 2,000"),
                references: ["streak_id"],
                exports: [PersonalExport("habit_skips", ["streak_id", "on_date", "skipped_at"]) { "user_id = \($0)" }]
            ),
            ledger("habit_archiving", "habit_archivings", "1,000 for each habit", ["from_date", "until_date"]),
            ledger("habit_milestone", "habit_milestones", "one for each milestone of a run", ["count", "counts", "on_date"]),
            PersonalTable(
                "habit_day",
                users: [:],
                growth: .bounded(
                    "one for each date of a habit; 1,000,000 of files (`HabitLimits.mostDates`), and one a date for each habit since"
                ),
                references: ["streak_id"]
            ),
            PersonalTable(
                "habit_run",
                users: [:],
                growth: .bounded("fewer than the dates of a habit"),
                references: ["streak_id"]
            ),
            PersonalTable(
                "habit_day_note",
                users: ["user_id": .delete],
                growth: .bounded("one for each date since 2000"),
                exports: [PersonalExport("habit_day_notes", ["on_date", "note", "updated_at"]) { "user_id = \($0)" }]
            ),
            PersonalTable("habit_tombstone", users: ["user_id": .delete], growth: .quota(.tombstones)),
        ]
    )

    /// A table of the ledgers, which has no user of its own: it goes with the streaks.
    private static func ledger(_ table: String, _ export: String, _ bound: String, _ columns: [ExportColumn]) -> PersonalTable {
        PersonalTable(
            table,
            users: [:],
            growth: .bounded(bound),
            references: ["streak_id"],
            exports: [
                PersonalExport(export, ["streak_id"] + columns) { user in
                    "streak_id = ANY(\(PurgedUserRepository.streaks(of: user)))"
                }
            ]
        )
    }
}

extension Quota {
    /// Twenty habits, each done once a date, for 27 years. A note of 100 characters has at most 3,200 bytes.
    static let completions = Quota(
        "habit_completion",
        rows: 200_000,
        rowBytes: 3_500,
        what: "completions of habits",
        remedy: "Delete completions, or habits, whose completions go 30 days later."
    )
    /// What devices are sent as deleted (HA-7).
    static let tombstones = Quota(
        "habit_tombstone",
        rows: 200_000,
        rowBytes: 200,
        what: "completions, skips, habits and categories deleted within 400 days",
        remedy: "Delete all habit data, or restore a backup: that makes room at once."
    )
}
