internal import Database
internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// Accounts, and the facts of other services that the profile shows.
    static let core = PersonalData([account, statistics, balance, rewards, purged]) { _ in
        ErasureSteps(before: { user, work in
            // Old events that hold names must not be replayed, nor stay: those of this transaction follow.
            _ = try await work.sql.execute(
                "DELETE FROM outbox WHERE aggregate = \(user.description) AND subject = 'evt.auth.v1.ProfileChanged'"
            )
            _ = try await work.sql.execute(
                "INSERT INTO purged_account (user_id, purged_at) VALUES (\(user), \(work.now)) ON CONFLICT DO NOTHING"
            )
        })
    }

    private static let account = PersonalTable(
        "account",
        users: ["id": .delete],
        growth: .perUser,
        exports: [
            PersonalExport(
                "account",
                [
                    "id", "email", "username", "display_name", .value("avatar_key", "nullif(avatar_key, '')"), "time_zone",
                    "time_zone_since", "window_start_hour", "locale", "email_verified_at", "is_admin", "terms_version",
                    "terms_accepted_at", "created_at",
                    "updated_at", "suspended_until",
                ]
            ) { "id = \($0)" }
        ]
    )

    private static let statistics = PersonalTable(
        "streak_stats",
        users: ["user_id": .delete],
        growth: .perUser,
        exports: [PersonalExport("statistics", ["active_streaks", "longest_streak", "total_photos"]) { "user_id = \($0)" }]
    )

    /// Billing exports it.
    private static let balance = PersonalTable("recovery_balance", users: ["user_id": .delete], growth: .perUser)

    /// Streaks exports them.
    private static let rewards = PersonalTable("profile_rewards", users: ["user_id": .delete], growth: .perUser)

    private static let purged = PersonalTable(
        "purged_account",
        users: ["user_id": .keep("that there was such an account is all that remains of it")],
        growth: .perUser
    )
}
