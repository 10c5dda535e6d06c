internal import AuthCore
internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// What belongs to an account besides its profile. Rows that refer to the account are deleted with it.
    static let accounts = PersonalData(
        [session, knownClient, moderation, apple, export, pendingMail, emailToken, secondFactor, recoveryCode],
        impersonal: [
            "refresh_token": "hashes of a session's tokens, about 10,000 of each: deleted with it",
            "apple_notification": "which notifications of Apple were handled",
            "apple_token_use": "hashes of tokens, until they expire",
            "login_failure": "hashes, for 15 minutes",
            "guest": "devices without an account",
            "password_request": "an address as it was typed, until a job has looked it up a second later",
            "registration_request": "what was sent to register, until the link in its mail is used, for a day at most",
            "mail_limit": "hashes, for an hour",
            "guest_address": "hashes, until the next date",
            "registration_minute": "how many registrations there were in a minute",
            "challenge_use": "hashes, for minutes",
        ]
    ) { _ in ErasureSteps(before: { user, work in try await DataExportRepository.withdraw(user, work.sql) }) }

    /// The audit log of administrators. It comes before the account is gone.
    static let administration = PersonalData([
        PersonalTable(
            "admin_action",
            users: [
                "admin_id": .keep("who did what as an administrator stays, to be answered for"),
                "subject_id": .keep("that an administrator did something about the account stays; the words about it go"),
            ],
            growth: .bounded("one for each act of an administrator"),
            references: ["id"],
            exports: [
                PersonalExport(
                    "admin_actions",
                    [
                        .value(
                            "action",
                            """
                            CASE kind WHEN 1 THEN 'listed' WHEN 2 THEN 'read' WHEN 3 THEN 'suspended'
                            WHEN 4 THEN 'suspension_lifted' WHEN 5 THEN 'restored' WHEN 6 THEN 'signed_out'
                            WHEN 7 THEN 'report_decided' WHEN 8 THEN 'wallet_changed' WHEN 9 THEN 'wallet_read'
                            WHEN 10 THEN 'medal_decided' WHEN 13 THEN 'medal_read' WHEN 14 THEN 'report_read'
                            WHEN 17 THEN 'exported'
                            WHEN 20 THEN 'second_factor_enrolled' WHEN 21 THEN 'second_factor_removed'
                            ELSE 'streaks_read' END
                            """
                        ), "taken_at",
                    ]
                ) { "subject_id = \($0)" }
            ]
        )
    ]) { _ in ErasureSteps(before: { user, work in try await AdminActionRepository.deleteDetails(about: user, work.sql) }) }

    private static let session = PersonalTable(
        "session",
        users: ["account_id": .delete],
        growth: .bounded("one for each sign-in, which costs the hash of a password; until it expires"),
        references: ["id"],
        exports: [PersonalExport("sessions", ["id", "created_at", "expires_at", "revoked_at"]) { "account_id = \($0)" }]
    )

    /// Hashes of addresses, for 30 days.
    private static let knownClient = PersonalTable(
        "known_client",
        users: ["account_id": .delete],
        growth: .bounded("one for each address of a sign-in; for 30 days"),
        exports: [PersonalExport("known_addresses", ["seen_at"]) { "account_id = \($0)" }]
    )

    private static let moderation = PersonalTable(
        "moderation_taken",
        users: ["account_id": .delete],
        growth: .bounded("one for each act of a moderator"),
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
        growth: .perUser,
        exports: [PersonalExport("apple", ["subject", "consented_at", "revoked_at", "is_linked"]) { "account_id = \($0)" }]
    )

    /// That there is one and since when: never the secret.
    private static let secondFactor = PersonalTable(
        "second_factor",
        users: ["account_id": .delete],
        growth: .perUser,
        exports: [PersonalExport("second_factor", ["enrolled_at"]) { "account_id = \($0) AND enrolled_at IS NOT NULL" }]
    )

    private static let recoveryCode = PersonalTable(
        "recovery_code",
        users: ["account_id": .delete],
        growth: .bounded("10 for each second factor")
    )

    private static let emailToken = PersonalTable(
        "email_token",
        users: ["account_id": .delete],
        growth: .bounded("one for each mail, which `mail_limit` bounds; for 7 days"),
        references: ["id"],
        exports: [
            PersonalExport(
                "email_links",
                [
                    .value(
                        "purpose",
                        "CASE purpose WHEN 1 THEN 'verification' WHEN 2 THEN 'password_reset' ELSE 'email_change' END"
                    ),
                    "address", "created_at", "expires_at", "used_at",
                ]
            ) { "account_id = \($0)" }
        ]
    )

    /// Notifications exports what it sends.
    private static let pendingMail = PersonalTable(
        "pending_mail",
        users: ["account_id": .delete],
        growth: .bounded("one for each mail, which `mail_limit` bounds; until it is sent"),
        references: ["id", "token_id", "attempt"]
    )

    private static let export = PersonalTable(
        "data_export",
        users: ["user_id": .erased(by: "the job `old_data_exports`, after the files")],
        growth: .perUser,
        references: ["attempt"]
    )
}
