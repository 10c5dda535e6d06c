internal import Kernel
internal import Replicas
internal import ServiceRuntime

extension PersonalData {
    /// The log. Its texts are what the user has read, names of others included, but not of those whom a block hides (SO-7): they come back
    /// when it ends. Entries of other users' logs that name the user are deleted too.
    static let log = PersonalData([
        PersonalTable(
            "notification",
            users: ["user_id": .delete, "actor_id": .delete],
            references: ["id", "streak_id", "friendship_id"],
            exports: [
                PersonalExport(
                    "notifications",
                    [
                        "id", .value("type", "kind"), "title", "body", "actor_id", "streak_id", "friendship_id", "created_at",
                        "read_at",
                    ]
                ) { "user_id = \($0) AND \(NotificationRepository.isShown(to: $0))" }
            ]
        )
    ])
}
