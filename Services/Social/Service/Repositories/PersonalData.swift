internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// The social graph. Others appear in the export with their ids only.
    static let friends = PersonalData(
        [
            friendship,
            // After the friendships: their end makes a new version of it.
            PersonalTable("friend_list", users: ["user_id": .delete]),
            PersonalTable("sent_request", users: ["sender": .delete], references: ["friendship_id"]),
            nudge, block, report,
            PersonalTable("search_person", users: ["user_id": .erased(by: "the profile that no longer shows the user")]),
            PersonalTable("search_term", users: ["user_id": .erased(by: "the profile that no longer shows the user")]),
        ]
    ) { _ in
        // A request that was under way at the deletion may have left something since.
        ErasureSteps(before: { user, work in try await LifecycleConsumers.end(user, work) })
    }

    private static let friendship = PersonalTable(
        "friendship",
        users: [
            "user_low": .delete, "user_high": .delete, "requester": .erased(by: "the columns of the pair, of which it is one"),
        ],
        references: ["id"],
        exports: [
            PersonalExport(
                "friendships",
                [
                    .value("friendship_id", "id"),
                    .value("user_id") { "CASE WHEN user_low = \($0) THEN user_high ELSE user_low END" },
                    .value(
                        "status",
                        """
                        CASE state WHEN 1 THEN 'pending' WHEN 2 THEN 'accepted' WHEN 3 THEN 'declined' WHEN 4 THEN 'withdrawn'
                            ELSE 'ended' END
                        """
                    ),
                    .value("direction") { "CASE WHEN requester = \($0) THEN 'outgoing' ELSE 'incoming' END" },
                    "created_at", "since",
                ]
            ) { "(user_low = \($0) OR user_high = \($0)) AND state <> 0" }
        ]
    )

    private static let nudge = PersonalTable(
        "nudge",
        users: ["from_user": .delete, "to_user": .delete],
        exports: [
            PersonalExport("nudges", [.value("user_id", "to_user"), .value("at", "nudged_at")]) {
                "from_user = \($0) AND nudged_at IS NOT NULL"
            }
        ]
    )

    private static let block = PersonalTable(
        "block",
        users: ["blocker": .delete, "blocked": .delete],
        references: ["id"],
        exports: [
            PersonalExport("blocks", [.value("block_id", "id"), .value("user_id", "blocked"), .value("since", "changed_at")]) {
                "blocker = \($0) AND active"
            }
        ]
    )

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
