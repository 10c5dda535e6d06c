internal import Database
internal import Kernel
internal import Replicas
internal import ServiceRuntime

extension PersonalData {
    /// Accounts and what belongs to them. No hash of a password or token is exported.
    static let accounts = PersonalData(
        [session, moderation, apple, statistics, balance, account, export, purged],
        impersonal: [
            "refresh_token": "hashes of a session's tokens: deleted with it",
            "apple_notification": "which notifications of Apple were handled",
            "login_failure": "hashes, for 15 minutes",
            "guest": "devices that look around without an account",
        ]
    ) { _ in
        ErasureSteps(before: { user, work in
            // Old events that say names must not be replayed, nor lie there: those of this transaction follow.
            _ = try await work.sql.execute(
                "DELETE FROM outbox WHERE aggregate = \(user.description) AND subject = 'evt.auth.v1.ProfileChanged'"
            )
            try await DataExportRepository.withdraw(user, work.sql)
            _ = try await work.sql.execute(
                "INSERT INTO purged_account (user_id, purged_at) VALUES (\(user), \(work.now)) ON CONFLICT DO NOTHING"
            )
        })
    }

    private static let account = PersonalTable(
        "account",
        users: ["id": .delete],
        exports: [
            PersonalExport(
                "account",
                [
                    "id", "email", "username", "display_name", .value("avatar_key", "nullif(avatar_key, '')"), "time_zone",
                    "time_zone_since", "window_start_hour", "is_admin", "terms_version", "terms_accepted_at", "created_at",
                    "updated_at",
                    "suspended_until",
                ]
            ) { "id = \($0)" }
        ]
    )

    private static let session = PersonalTable(
        "session",
        users: ["account_id": .delete],
        references: ["id"],
        exports: [PersonalExport("sessions", ["id", "created_at", "expires_at", "revoked_at"]) { "account_id = \($0)" }]
    )

    private static let moderation = PersonalTable(
        "moderation_taken",
        users: ["account_id": .delete],
        references: ["action_id"],
        exports: [
            PersonalExport(
                "moderation",
                [.value("action", "CASE action WHEN 3 THEN 'suspend' ELSE 'ban' END"), "taken_at", "until"]
            ) { "account_id = \($0)" }
        ]
    )

    private static let apple = PersonalTable(
        "apple_identity",
        users: ["account_id": .delete],
        exports: [PersonalExport("apple", ["subject", "consented_at", "revoked_at"]) { "account_id = \($0)" }]
    )

    private static let statistics = PersonalTable(
        "streak_stats",
        users: ["user_id": .delete],
        exports: [PersonalExport("statistics", ["active_streaks", "longest_streak", "total_photos"]) { "user_id = \($0)" }]
    )

    /// Billing exports it.
    private static let balance = PersonalTable("recovery_balance", users: ["user_id": .delete])

    private static let export = PersonalTable(
        "data_export",
        users: ["user_id": .erased(by: "the job `old_data_exports`, after the files")],
        references: ["attempt"]
    )

    private static let purged = PersonalTable(
        "purged_account",
        users: ["user_id": .keep("that there was such an account is all that remains of it")]
    )
}
