internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Tracking is health data: deleted with the account.
    static let checkIns = PersonalData([
        PersonalTable(
            "tracking_entry",
            users: ["user_id": .delete],
            growth: .perDate,
            references: ["id"],
            exports: [
                PersonalExport(
                    "tracking",
                    [
                        "on_date", "mood_score", "energy_level", "weight_kg", "steps", "notes", "yesterday_feeling",
                        "checked_in_at",
                        "activities", "created_at", "updated_at",
                    ]
                ) { "user_id = \($0)" }
            ]
        ),
        PersonalTable(
            "tracking_update",
            users: ["user_id": .delete],
            growth: .bounded("200 for each date"),
            references: ["id"],
            exports: [
                PersonalExport(
                    "tracking_updates",
                    ["on_date", "told_at", "mood_score", "energy_level", "weight_kg", "steps", "notes", "activities"]
                ) { "user_id = \($0)" }
            ]
        ),
        PersonalTable(
            "tracking_goal",
            users: ["user_id": .delete],
            growth: .perUser,
            exports: [PersonalExport("tracking_goals", ["steps"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "check_in_milestone",
            users: ["user_id": .delete],
            growth: .bounded("one for each milestone"),
            exports: [PersonalExport("check_in_milestones", ["days", "reached_on"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "freeze_use",
            users: ["user_id": .delete],
            growth: .perDate,
            exports: [
                PersonalExport("freezes_used", ["on_date", "by_hand", "streak_count", "used_at", "returned_at"]) {
                    "user_id = \($0)"
                }
            ]
        ),
        PersonalTable(
            "freeze_purchase",
            users: ["user_id": .delete],
            growth: .bounded("one for each purchase, which costs money or earned coins"),
            references: ["operation_id"],
            exports: [
                PersonalExport(
                    "freezes_bought",
                    ["quantity", "method", "begun_at", "bought_at", "price_milli", "currency", "transaction_id", "freezes_left"]
                ) { "user_id = \($0)" }
            ]
        ),
        PersonalTable(
            "check_in_repair",
            users: ["user_id": .delete],
            growth: .bounded("one in 30 days"),
            references: ["operation_id"],
            exports: [
                PersonalExport(
                    "repairs",
                    [
                        "streak_count", "repaired_on", "repaired_at", "method", "price_milli", "currency", "transaction_id",
                        "returned_at",
                    ]
                ) { "user_id = \($0)" }
            ]
        ),
        PersonalTable(
            "check_in_pause",
            users: ["user_id": .delete],
            growth: .bounded("one between two check-ins"),
            exports: [
                PersonalExport("check_in_pauses", ["paused_at", "from_date", "until_date", "reason", "notes"]) {
                    "user_id = \($0)"
                }
            ]
        ),
    ])
}
