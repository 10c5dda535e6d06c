internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Which sessions ended, for a day. Auth exports the sessions.
    static let push = PersonalData(
        [
            PersonalTable(
                "ended_session",
                users: ["user_id": .delete],
                growth: .bounded("one for each session that ended; for a day"),
                references: ["session_id"]
            ),
            PersonalTable("test_push", users: ["user_id": .delete], growth: .perUser),
        ],
        impersonal: [
            "push_provider": "whether the push service answers",
            "push_slot": "which replica has a connection to the push service",
        ]
    )
}
