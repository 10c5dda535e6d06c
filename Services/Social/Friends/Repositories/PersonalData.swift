internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Requests, nudges, and what friend lists and search are read from. The core's friendships are erased before: that renews the lists.
    static let friends = PersonalData([
        PersonalTable("friend_list", users: ["user_id": .delete], growth: .perUser),
        PersonalTable(
            "sent_request",
            users: ["sender": .delete],
            growth: .bounded("20 an hour; for some hours"),
            references: ["friendship_id"]
        ),
        nudge,
        PersonalTable(
            "search_person",
            users: ["user_id": .erased(by: "the profile that no longer shows the user")],
            growth: .perUser
        ),
        PersonalTable(
            "search_term",
            users: ["user_id": .erased(by: "the profile that no longer shows the user")],
            growth: .bounded("as many as the names are long: two for each of 120 letters")
        ),
    ])

    private static let nudge = PersonalTable(
        "nudge",
        users: ["from_user": .delete, "to_user": .delete],
        growth: .bounded("one for each friend"),
        exports: [
            PersonalExport("nudges", [.value("user_id", "to_user"), .value("at", "nudged_at")]) {
                "from_user = \($0) AND nudged_at IS NOT NULL"
            }
        ]
    )
}
