internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Goods that were bought, and what of them is in use. What operations granted stays with a bare id, so that no late repeat grants again.
    static let goods = PersonalData([
        PersonalTable(
            "goods_stock",
            users: ["user_id": .delete],
            growth: .bounded("one for each good"),
            exports: [PersonalExport("goods", ["good", "count"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "goods_grant",
            users: ["user_id": .keep("a repeat of the operation must not grant again")],
            growth: .bounded("one for each good that was bought or earned"),
            references: ["operation_id", "taken_by"]
        ),
        PersonalTable(
            "booster",
            users: ["user_id": .delete],
            growth: .bounded("one for each that was bought"),
            references: ["operation_id"],
            exports: [PersonalExport("xp_boosters", ["begins_at", "ends_at"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "double_day",
            users: ["user_id": .delete],
            growth: .perDate,
            references: ["operation_id"],
            exports: [PersonalExport("double_days", ["on_date", "has_helped"]) { "user_id = \($0)" }]
        ),
    ])
}
