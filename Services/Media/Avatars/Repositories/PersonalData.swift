internal import Kernel
internal import MediaCore
internal import ServiceRuntime

extension PersonalData {
    /// Pictures of users.
    static let avatars = PersonalData([
        PersonalTable(
            "avatar",
            users: ["user_id": .delete],
            growth: .bounded("the one that is shown, and replaced ones for an hour"),
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
        PersonalTable("avatar_owner", users: ["user_id": .delete], growth: .perUser),
    ])
}
