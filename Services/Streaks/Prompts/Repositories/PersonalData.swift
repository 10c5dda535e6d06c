internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Prompts that a member has written.
    static let prompts = PersonalData([
        PersonalTable(
            "streak_prompts",
            users: ["set_by": .delete],
            growth: .bounded("one for each streak, with at most 30 prompts"),
            references: ["streak_id"],
            exports: [PersonalExport("prompts", ["streak_id", "set_at", "texts", "emojis"]) { "set_by = \($0)" }]
        )
    ])
}
