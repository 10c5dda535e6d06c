internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Totals and achievements.
    static let progress = PersonalData(
        [
            PersonalTable(
                "user_stats",
                users: ["user_id": .delete],
                growth: .perUser,
                exports: [
                    PersonalExport(
                        "totals",
                        [
                            "total_photos", "on_time_photos", "recoveries_used", .value("ended_broken_streaks", "ended_breaks"),
                            .value("ended_streaks_broken_by_you", "ended_breaks_by_user"),
                        ]
                    ) { "user_id = \($0)" }
                ]
            ),
            PersonalTable(
                "achievement",
                users: ["user_id": .delete],
                growth: .bounded("one for each achievement"),
                exports: [PersonalExport("achievements", ["kind", "earned_at"]) { "user_id = \($0)" }]
            ),
        ],
        impersonal: ["stale_totals": "whose totals are to be emitted: ids, for seconds"]
    )
}
