internal import Kernel
package import ServiceRuntime

extension PersonalData {
    /// The social graph. Other users appear in the export with their ids only.
    static let core = PersonalData([friendship, block, endedTies]) { _ in
        // A request that was under way at the deletion may have left something since.
        ErasureSteps(before: { user, work in try await LifecycleConsumers.end(user, work) })
    }

    private static let friendship = PersonalTable(
        "friendship",
        users: [
            "user_low": .delete, "user_high": .delete, "requester": .erased(by: "the columns of the pair, of which it is one"),
        ],
        growth: .bounded("one for each other user: 20 new requests an hour, and blocks, which have a quota"),
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

    private static let block = PersonalTable(
        "block",
        users: ["blocker": .delete, "blocked": .delete],
        growth: .quota(.blocks),
        references: ["id"],
        exports: [
            PersonalExport("blocks", [.value("block_id", "id"), .value("user_id", "blocked"), .value("since", "changed_at")]) {
                "blocker = \($0) AND active"
            }
        ]
    )

    private static let endedTies = PersonalTable(
        "ended_ties",
        users: ["user_id": .delete],
        growth: .bounded("two kinds"),
        exports: [
            PersonalExport(
                "ended_with_account",
                [.value("what", "CASE kind WHEN 1 THEN 'friendships' ELSE 'circles' END"), "deleted_at", "amount"]
            ) { "user_id = \($0)" }
        ]
    )
}

extension Quota {
    /// A block that has ended keeps its row, whose version orders the events: another block of the same user takes none.
    package static let blocks = Quota(
        "block",
        of: "blocker",
        rows: 20_000,
        rowBytes: 200,
        what: "users whom you have blocked, those whom you have unblocked included",
        remedy: "You can still block these; the blocks go with your account only."
    )
}
