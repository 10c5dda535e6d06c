internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// The ledgers. Postings stay, since books must balance, but with a bare id and without what they were for.
    static let tokens = PersonalData([
        PersonalTable(
            "token_balance",
            users: ["user_id": .keep("books must balance")],
            exports: [PersonalExport("recovery_tokens", ["balance"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "token_entry",
            users: [
                "user_id": .anonymise([("note", "NULL"), ("streak_id", "NULL"), ("posting_key", "id::text")])
            ],
            references: ["id", "streak_id"],
            exports: [
                PersonalExport(
                    "recovery_ledger",
                    [
                        "id",
                        .value(
                            "type",
                            """
                            CASE type WHEN 1 THEN 'earned' WHEN 2 THEN 'purchased' WHEN 3 THEN 'used' WHEN 4 THEN 'refunded' ELSE 'bonus' END
                            """
                        ),
                        "amount", "balance_after", "streak_id", "note", "created_at",
                    ]
                ) { "user_id = \($0)" }
            ]
        ),
        PersonalTable(
            "subscription",
            users: ["user_id": .delete],
            exports: [PersonalExport("subscription", ["product_id", "expires_at", "will_renew"]) { "user_id = \($0)" }]
        ),
    ])
}
