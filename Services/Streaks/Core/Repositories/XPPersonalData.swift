package import ServiceRuntime

extension PersonalData {
    /// Experience points.
    package static let xp = PersonalData([
        PersonalTable(
            "xp_account",
            users: ["user_id": .delete],
            growth: .perUser,
            exports: [PersonalExport("xp", ["balance", "lifetime"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "xp_posting",
            users: ["user_id": .delete],
            growth: .bounded("a few for each date of a check-in or a milestone"),
            exports: [PersonalExport("xp_postings", ["amount", "cause", "posted_at"]) { "user_id = \($0)" }]
        ),
    ])
}
