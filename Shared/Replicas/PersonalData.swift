public import ServiceRuntime

extension ProfileReplica {
    /// What the replica holds about users.
    public static let personalData = PersonalData(
        [
            PersonalTable(
                "profile_replica",
                users: [
                    "user_id": .keep("auth's last profile names no one; its version keeps an older event from coming after it")
                ],
                growth: .perUser
            )
        ],
        impersonal: ["profile_snapshot": "whether all profiles were fetched once"]
    )
}

extension BlockReplica {
    /// What the replica holds about users. Social exports whom they block.
    public static let personalData = PersonalData(
        [
            PersonalTable(
                "block_replica",
                users: ["blocker": .delete, "blocked": .delete],
                growth: .bounded("one for each block, of which social's quota allows so many"),
                references: ["block_id"]
            )
        ],
        impersonal: ["block_snapshot": "whether all blocks were fetched once"]
    )
}

extension EntitlementReplica {
    /// What the replica holds about users.
    ///
    /// - Parameter key: under which the service exports it; nil: it does not.
    public static func personalData(exportedAs key: String? = nil) -> PersonalData {
        let exports = key.map { key in [PersonalExport(key, ["is_premium", "expires_at"]) { "user_id = \($0)" }] } ?? []
        return PersonalData([
            PersonalTable("entitlement_replica", users: ["user_id": .delete], growth: .perUser, exports: exports)
        ])
    }
}
