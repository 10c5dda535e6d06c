internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Reports, by the user and about the user.
    static let safety = PersonalData([report, standing])

    private static let standing = PersonalTable(
        "post_standing",
        users: ["owner": .delete],
        growth: .bounded("one for each reported post"),
        references: ["post_id"]
    )

    private static let report = PersonalTable(
        "report",
        users: [
            "reporter": .delete, "owner": .delete, "moderator": .keep("who decided is part of the audit log (SO-9)"),
        ],
        growth: .quota(.reports),
        references: ["id", "subject_id", "action_id"],
        exports: [
            PersonalExport("reports", [.value("report_id", "id"), "subject_id", "description", "created_at"]) {
                "reporter = \($0)"
            }
        ]
    )
}

extension Quota {
    /// A description of 500 characters has at most 6,400 bytes, and so has a moderator's note.
    static let reports = Quota(
        "report",
        of: "reporter",
        rows: 10_000,
        rowBytes: 13_500,
        what: "reports",
        remedy: "Reports are kept for moderators, and go with your account only."
    )
}
