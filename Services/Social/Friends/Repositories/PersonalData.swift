internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Requests, nudges, and what friend lists and search are read from. The core's friendships are erased before: that renews the lists.
    static let friends = PersonalData([
        PersonalTable("friend_list", users: ["user_id": .delete]),
        PersonalTable("sent_request", users: ["sender": .delete], references: ["friendship_id"]),
        nudge,
        PersonalTable("search_person", users: ["user_id": .erased(by: "the profile that no longer shows the user")]),
        PersonalTable("search_term", users: ["user_id": .erased(by: "the profile that no longer shows the user")]),
    ])

    private static let nudge = PersonalTable(
        "nudge",
        users: ["from_user": .delete, "to_user": .delete],
        exports: [
            PersonalExport("nudges", [.value("user_id", "to_user"), .value("at", "nudged_at")]) {
                "from_user = \($0) AND nudged_at IS NOT NULL"
            }
        ]
    )
}
