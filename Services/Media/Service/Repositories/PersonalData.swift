internal import Database
internal import Kernel
internal import Replicas
internal import ServiceRuntime

extension PersonalData {
    /// Snaps. The erasure deletes rows; the jobs delete the blobs.
    static let snaps = PersonalData(
        [
            PersonalTable(
                "streak_snap",
                users: ["user_id": .erased(by: "`OwnerRepository.purge`, by the index on the snap")],
                references: ["streak_id", "snap_id"]
            ),
            PersonalTable("snap", users: ["user_id": .delete], references: ["id"], exports: [snap]),
            PersonalTable("snap_operation", users: ["user_id": .delete], references: ["id", "streak_ids"]),
            PersonalTable("photo_owner", users: ["user_id": .keep("the photos stay withheld, also from an older event")]),
            PersonalTable(
                "hidden_pair",
                users: ["one": .erased(by: "the job `hidden_pairs`"), "other": .erased(by: "the job `hidden_pairs`")]
            ),
        ]
    ) { _ in
        ErasureSteps(before: { user, work in
            try await OwnerRepository.purge(user, work.sql)
            // Before the blocks are deleted: whom the job must show again follows from them.
            try await HiddenPairRepository.noteAll(of: user, work.sql)
        })
    }

    private static let snap = PersonalExport(
        "snaps",
        [
            "id", "caption", "prompt_id", "captured_at", "posted_at", "on_time", "width", "height",
            .value(
                "streak_ids",
                "(SELECT coalesce(jsonb_agg(s.streak_id ORDER BY s.streak_id), '[]') FROM streak_snap s WHERE s.snap_id = snap.id)"
            ),
            .made("photo_url", from: "display_key") { settings, now in
                let links = try MediaLinks(settings)
                return { _, key in try links.link(key, now: now) }
            },
        ]
    ) { "user_id = \($0)" }

    /// Pictures of users.
    static let avatars = PersonalData([
        PersonalTable(
            "avatar",
            users: ["user_id": .delete],
            references: ["id"],
            exports: [
                PersonalExport(
                    "avatars",
                    [
                        "id",
                        .made("avatar_url", from: "id") { settings, _ in
                            let links = try MediaLinks(settings)
                            return { user, id in
                                links.avatar(try Avatar(id: try OperationID(parsing: id, field: "id"), user: user).large)
                            }
                        },
                    ]
                ) { "user_id = \($0) AND state = 1" }
            ]
        ),
        PersonalTable("avatar_owner", users: ["user_id": .delete]),
    ])

    /// Milestone cards. A card shows names: it is removed for the other user too, by the job that deletes its picture.
    static let cards = PersonalData([
        PersonalTable(
            "milestone_share",
            users: ["user_id": .delete],
            references: ["card_id"],
            exports: [
                PersonalExport("milestone_shares", [.value("milestone_id", "card_id"), "platform", "shared_at"]) {
                    "user_id = \($0)"
                }
            ]
        ),
        PersonalTable(
            "milestone_card",
            users: [
                "first_user": removedCard, "second_user": removedCard, "withdrawn_by": .erased(by: "the job `removed_cards`"),
            ],
            references: ["id", "streak_id"],
            exports: [card]
        ),
    ])

    private static let removedCard = Erasure.anonymise([("state", "2"), ("token", "NULL")])

    private static let card = PersonalExport(
        "milestone_cards",
        [
            "id", "streak_id", "milestone",
            .value("style", "CASE style WHEN 1 THEN 'orange' WHEN 2 THEN 'purple' WHEN 3 THEN 'green' ELSE 'dark' END"),
            // Both users are on it: without its picture while one blocks the other (SO-7).
            .made("image_url", from: { "CASE WHEN \(isShown(to: $0)) THEN blob_key END" }) { settings, now in
                let links = try MediaLinks(settings)
                return { user, key in try links.link(key, for: user, now: now) }
            },
            .made("share_url", from: "token") { settings, _ in
                let links = try MediaLinks(settings)
                return { _, token in links.address("/s/\(token)") }
            },
        ]
    ) { user in "state = 1 AND (first_user = \(user) OR second_user = \(user))" }

    private static func isShown(to user: UserID) -> Query {
        "\(BlockReplica.isShown("first_user", to: user)) AND \(BlockReplica.isShown("second_user", to: user))"
    }
}
