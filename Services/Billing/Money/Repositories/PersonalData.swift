internal import Kernel
internal import ServiceRuntime

extension PersonalData {
    /// The ledger. Postings stay, since books must balance, but with a bare id and without what they were for.
    static let ledger = PersonalData(
        [
            PersonalTable(
                "account",
                users: ["user_id": .keep("books must balance")],
                growth: .bounded("one for each currency and kind"),
                exports: [
                    PersonalExport("balances", [currency, "balance"]) { "user_id = \($0) AND kind = 0" }
                ]
            ),
            PersonalTable(
                "ledger_transaction",
                users: [
                    "user_id": .anonymise([("note", "NULL"), ("streak_id", "NULL"), ("posting_key", "id::text")]),
                    "actor_id": .anonymise([("actor_id", "NULL")]),
                ],
                growth: .bounded("one for each thing that was earned, bought or spent: coins and tokens are earned by dates"),
                references: ["id", "streak_id", "reverses"],
                exports: [
                    PersonalExport(
                        "ledger",
                        [
                            "id", currency,
                            .value(
                                "type",
                                """
                                CASE type WHEN 1 THEN 'earned' WHEN 2 THEN 'purchased' WHEN 3 THEN 'used' WHEN 4 THEN 'refunded'
                                    WHEN 5 THEN 'bonus' ELSE 'granted' END
                                """
                            ),
                            .value("amount", "posting.amount"), .value("balance_after", "posting.balance_after"), "streak_id",
                            "note",
                            "created_at",
                        ],
                        join: "JOIN posting ON posting.transaction_id = ledger_transaction.id AND posting.kind = 0"
                    ) { "user_id = \($0)" }
                ]
            ),
        ],
        impersonal: ["posting": "the amounts of ledger_transaction"]
    )

    /// What was bought in stores. RevenueCat is asked to delete the customer too.
    static let subscriptions = PersonalData([
        PersonalTable(
            "subscription",
            users: ["user_id": .delete],
            growth: .bounded("one for each subscription of a store"),
            exports: [
                PersonalExport(
                    "subscriptions",
                    ["store", "transaction_key", "product", "purchased_at", "expires_at", "ended_at"]
                ) {
                    "user_id = \($0)"
                }
            ]
        ),
        PersonalTable(
            "store_event",
            users: ["user_id": .delete],
            growth: .bounded("one for each event of a store"),
            exports: [PersonalExport("store_events", ["id", "kind", "happened_at", "received_at"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "store_alias",
            users: ["user_id": .delete],
            growth: .bounded("one for each name in a store"),
            exports: [PersonalExport("store_names", ["name"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "store_transfer",
            users: ["from_user": .delete, "to_user": .anonymise([("to_user", "NULL")])],
            growth: .bounded("one for each transfer in a store")
        ),
        PersonalTable(
            "customer",
            users: ["user_id": .delete],
            growth: .perUser,
            exports: [PersonalExport("plan", ["is_premium", "access_until"]) { "user_id = \($0)" }]
        ),
        PersonalTable(
            "premium_bonus",
            users: ["user_id": .keep("a subscription gives one bonus a month, also to an account made later")],
            growth: .bounded("one for each month")
        ),
        PersonalTable(
            "store_deletion",
            users: ["user_id": .erased(by: "the job `store_deletions`, when RevenueCat has deleted it")],
            growth: .perUser
        ),
    ]) { environment in
        let asks = try !environment.settings.get(MoneySettings.key).isEmpty
        return ErasureSteps(before: { user, work in
            if asks {
                let names = try await StoreNameRepository.customers(of: user, work.sql)
                try await CustomerRepository.addDeletion(user, names: names, now: work.now, work.sql)
            }
            try await StoreEventRepository.deleteAll(naming: user, work.sql)
        })
    }

    /// Purchases stay for the books, without the store's transaction.
    static let purchases = PersonalData(
        [
            PersonalTable(
                "purchase",
                users: ["user_id": .anonymise([("store", "NULL"), ("transaction_key", "NULL")])],
                growth: .bounded("one for each purchase, which costs money or earned coins"),
                references: ["id", "confirmed_by"],
                exports: [
                    PersonalExport("purchases", ["id", "item", "title", "quantity", "coins", "purchased_at"]) {
                        "user_id = \($0)"
                    }
                ]
            ),
            PersonalTable(
                "goods_operation",
                users: ["user_id": .keep("a purchase that moved is still undone from whom it was given to")],
                growth: .bounded("a few for each purchase"),
                references: ["id", "purchase_id"]
            ),
        ],
        impersonal: [
            "purchased_good": "the goods of a purchase", "moved_good": "the goods of a purchase that moved",
            "catalog_item": "what can be bought", "catalog_good": "what can be bought",
        ]
    )

    private static var currency: ExportColumn {
        .value("currency", "CASE currency WHEN 1 THEN 'coins' ELSE 'recovery_tokens' END")
    }
}
