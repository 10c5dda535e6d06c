internal import Kernel
internal import ServiceRuntime
internal import SocialCore

extension PersonalData {
    /// Who is in which circle, and who made its invites. A circle is its other members' too; one without members is deleted.
    ///
    /// - Parameter followers: what all features add to a change of a profile.
    static func circles(_ followers: [any ProfileFollower]) -> PersonalData {
        PersonalData(
            [member, invite, removal, entry],
            impersonal: ["circle": "names and descriptions of groups; their members have a table of their own"]
        ) { environment in
            let changes = try CircleChanges(SocialCore(environment, followers))
            // The deletion has done it; a request that was under way then may have joined a circle since.
            return ErasureSteps(before: { user, work in try await changes.leaveAll(user, work) })
        }
    }

    private static let member = PersonalTable(
        "circle_member",
        users: ["user_id": .delete],
        growth: .bounded("20 circles of a user"),
        references: ["circle_id"],
        exports: [
            PersonalExport(
                "circles",
                [
                    "circle_id", .value("name", "circle.name"), .value("description", "circle.description"),
                    .value("role", "CASE role WHEN 1 THEN 'owner' WHEN 2 THEN 'admin' ELSE 'member' END"), "joined_at",
                ],
                join: "JOIN circle ON circle.id = circle_member.circle_id"
            ) { "circle_member.user_id = \($0)" }
        ]
    )

    /// Not exported: like a block by another, it is what others decided about the user.
    private static let removal = PersonalTable(
        "circle_removal",
        users: ["user_id": .delete],
        growth: .bounded("one for each circle that removed the user; for 30 days"),
        references: ["circle_id"]
    )

    /// A number of one date.
    private static let entry = PersonalTable("circle_entry", users: ["user_id": .delete], growth: .perUser)

    private static let invite = PersonalTable(
        "circle_invite",
        users: ["created_by": .anonymise([("created_by", "NULL")])],
        growth: .bounded("100 for each circle"),
        references: ["id", "circle_id"],
        exports: [
            PersonalExport("circle_invites", ["circle_id", "created_at", "expires_at", "uses", "max_uses", "revoked_at"]) {
                "created_by = \($0)"
            }
        ]
    )
}
