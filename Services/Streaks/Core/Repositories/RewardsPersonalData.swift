internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// What users have earned by streaks of their own.
    static let rewards = PersonalData([
        PersonalTable(
            "badge",
            users: ["user_id": .delete],
            growth: .bounded("one for each badge"),
            exports: [PersonalExport("badges", ["badge", "earned_at"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "unlock",
            users: ["user_id": .delete],
            growth: .bounded("one for each unlock"),
            exports: [PersonalExport("unlocks", ["unlock", "earned_at", "is_off"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "celebration",
            users: ["user_id": .delete],
            growth: .bounded("one for each milestone"),
            exports: [PersonalExport("celebrations", ["count", "celebrated_at"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "public_rewards",
            users: ["user_id": .delete],
            growth: .perUser,
            exports: [PersonalExport("flame", ["flame"]) { "user_id = \($0) AND flame IS NOT NULL" }]
        ),
    ])
}
