internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Prompts that a member has written.
    static let prompts = PersonalData([
        PersonalTable(
            "streak_prompts",
            users: ["set_by": .delete],
            references: ["streak_id"],
            exports: [PersonalExport("prompts", ["streak_id", "set_at", "texts", "emojis"]) { "set_by = \($0)" }]
        )
    ])
}
