internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Reports, by the user and about the user.
    static let safety = PersonalData([report, standing])

    private static let standing = PersonalTable("post_standing", users: ["owner": .delete], references: ["post_id"])

    private static let report = PersonalTable(
        "report",
        users: [
            "reporter": .delete, "owner": .delete, "moderator": .keep("who decided is part of the audit log (SO-9)"),
        ],
        references: ["id", "subject_id", "action_id"],
        exports: [
            PersonalExport("reports", [.value("report_id", "id"), "subject_id", "description", "created_at"]) {
                "reporter = \($0)"
            }
        ]
    )
}
