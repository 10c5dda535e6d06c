internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Check-ins in the feeds of circles. What a member contributed to the circle's streak is in the core's ledger.
    static let teams = PersonalData(
        [
            PersonalTable(
                "team_check_in",
                users: ["user_id": .delete],
                growth: .bounded("one for each circle and date"),
                references: ["id", "circle_id"],
                exports: [
                    PersonalExport("circle_check_ins", ["circle_id", "on_date", "checked_in_at", "to_circle"]) {
                        "user_id = \($0)"
                    }
                ]
            )
        ],
        impersonal: ["team": "which streak a circle has"]
    )
}
