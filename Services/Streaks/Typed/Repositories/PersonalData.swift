internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// What typed streaks have besides the store.
    static let typed = PersonalData([
        PersonalTable(
            "typed_restore",
            users: ["user_id": .delete],
            growth: .bounded("one for each restore that was bought"),
            references: ["streak_id"],
            exports: [PersonalExport("restored_dates", ["streak_id", "on_date"]) { "user_id = \($0)" }]
        )
    ])
}
