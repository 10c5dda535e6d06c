import ServiceKit

extension PersonalData {
    /// Who was greeted, and how often. From this declaration the runtime serves the export and does the erasure.
    static let visitors = PersonalData([
        PersonalTable(
            "visitor",
            users: ["user_id": .delete],
            growth: .perUser,
            exports: [PersonalExport("greetings", ["display_name", "greetings"]) { "user_id = \($0)" }]
        )
    ])
}
