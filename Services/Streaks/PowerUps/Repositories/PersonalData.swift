internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// What became of power-ups.
    static let powerUps = PersonalData([
        PersonalTable(
            "power_up",
            users: ["user_id": .delete],
            growth: .bounded("one for each power-up that was bought"),
            references: ["id"],
            exports: [
                PersonalExport("power_ups", ["good", "on_date", "state", "used_at", "held_until", "helped_on", "returned_at"]) {
                    "user_id = \($0)"
                }
            ]
        )
    ])
}
