internal import Database
internal import Kernel
internal import MediaCore
internal import Replicas
internal import ServiceRuntime

extension PersonalData {
    /// Milestone cards. A card shows names: that of two friends is removed for the other one too, by the job that deletes its picture.
    static let cards = PersonalData([
        PersonalTable(
            "milestone_share",
            users: ["user_id": .delete],
            growth: .bounded("one for each card and each of five platforms"),
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
            growth: .bounded("one for each milestone that was reached, in each of four styles"),
            references: ["id", "streak_id", "circle_id"],
            exports: [card]
        ),
    ])

    private static let removedCard = Erasure.anonymise([("state", "2"), ("token", "NULL")])

    private static let card = PersonalExport(
        "milestone_cards",
        [
            "id", "streak_id", "milestone", "subject", "title",
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
        "\(BlockReplica.isShown("first_user", to: user)) AND (second_user IS NULL OR \(BlockReplica.isShown("second_user", to: user)))"
    }
}
