internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Habits are their user's alone: deleted with the account.
    static let habits = PersonalData(
        [
            PersonalTable(
                "habit_account",
                users: ["user_id": .delete],
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
            ledger("habit_version", "habit_schedules", ["from_date", "schedule", "numbers", "anchor", "target", "week_start"]),
            PersonalTable(
                "habit_completion",
                users: ["user_id": .delete],
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
            PersonalTable("habit_photo", users: ["user_id": .delete], references: ["habit_id", "photo_id"]),
            PersonalTable(
                "habit_skip",
                users: ["user_id": .delete],
                references: ["streak_id"],
                exports: [PersonalExport("habit_skips", ["streak_id", "on_date", "skipped_at"]) { "user_id = \($0)" }]
            ),
            ledger("habit_archiving", "habit_archivings", ["from_date", "until_date"]),
            ledger("habit_milestone", "habit_milestones", ["count", "counts", "on_date"]),
            PersonalTable("habit_day", users: [:], references: ["streak_id"]),
            PersonalTable("habit_run", users: [:], references: ["streak_id"]),
            PersonalTable(
                "habit_day_note",
                users: ["user_id": .delete],
                exports: [PersonalExport("habit_day_notes", ["on_date", "note", "updated_at"]) { "user_id = \($0)" }]
            ),
            PersonalTable("habit_tombstone", users: ["user_id": .delete]),
        ]
    )

    /// A table of the ledgers, which has no user of its own: it goes with the streaks.
    private static func ledger(_ table: String, _ export: String, _ columns: [ExportColumn]) -> PersonalTable {
        PersonalTable(
            table,
            users: [:],
            references: ["streak_id"],
            exports: [
                PersonalExport(export, ["streak_id"] + columns) { user in
                    "streak_id = ANY(\(PurgedUserRepository.streaks(of: user)))"
                }
            ]
        )
    }
}
