internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Rewards of check-ins: what counts towards them, and the address of a medal.
    static let rewardsFeature = PersonalData([
        PersonalTable(
            "frozen_date",
            users: ["user_id": .delete],
            growth: .perDate,
            exports: [PersonalExport("frozen_dates", ["on_date"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "acquired_freeze",
            users: ["user_id": .delete],
            growth: .bounded("one for each purchase"),
            references: ["operation_id"],
            exports: [PersonalExport("acquired_freezes", ["count", "bought_at"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "yearly_repair",
            users: ["user_id": .delete],
            growth: .perUser,
            exports: [PersonalExport("yearly_repairs", ["next_at", "given"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "medal",
            users: ["user_id": .delete, "decided_by": .keep("who has decided about another user's request")],
            growth: .perUser,
            references: ["id"],
            exports: [
                PersonalExport(
                    "medal",
                    [
                        .value("status", "CASE status WHEN 1 THEN 'requested' WHEN 2 THEN 'sent' ELSE 'declined' END"), "name",
                        "line1", "line2", "city", "region", "postal_code", "country", "requested_at", "decided_at",
                        "tracking_code", "note",
                    ]
                ) { "user_id = \($0)" }
            ]
        ),
    ])
}
