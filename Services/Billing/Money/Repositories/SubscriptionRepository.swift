internal import BillingDomain
internal import Database
internal import Kernel

/// A subscription with its key.
struct StoredSubscription: Sendable {
    let store: String
    let key: String
    let user: UserID?
    let state: SubscriptionState
}

/// What the events of each original transaction come to.
enum SubscriptionRepository {
    private static let columns: Query = """
        store, transaction_key, user_id, product, period_type, purchased_at, expires_at, grace_until, ended_at, is_unsubscribed,
        has_billing_issue, is_renewable, is_temporary, gives_premium
        """

    static func find(_ store: String, _ key: String, _ sql: some QueryExecutor) async throws -> StoredSubscription? {
        try await sql.query(
            "SELECT \(columns) FROM subscription WHERE store = \(store) AND transaction_key = \(key)"
        ).first.map(subscription)
    }

    /// Those of a user.
    static func all(of user: UserID, _ sql: some QueryExecutor) async throws -> [StoredSubscription] {
        try await sql.query(
            "SELECT \(columns) FROM subscription WHERE user_id = \(user) ORDER BY store, transaction_key"
        ).map(subscription)
    }

    static func store(_ state: SubscriptionState, _ store: String, _ key: String, of user: UserID?, _ sql: Transaction)
        async throws
    {
        _ = try await sql.execute(
            """
            INSERT INTO subscription (\(columns))
            VALUES (\(store), \(key), \(user), \(state.product), \(state.periodType.rawValue), \(state.purchasedAt),
                \(state.expiresAt), \(state.graceUntil), \(state.endedAt), \(state.isUnsubscribed), \(state.hasBillingIssue),
                \(state.isRenewable), \(state.isTemporary), \(state.givesPremium))
            ON CONFLICT (store, transaction_key) DO UPDATE SET user_id = EXCLUDED.user_id, product = EXCLUDED.product,
                period_type = EXCLUDED.period_type, purchased_at = EXCLUDED.purchased_at, expires_at = EXCLUDED.expires_at,
                grace_until = EXCLUDED.grace_until, ended_at = EXCLUDED.ended_at, is_unsubscribed = EXCLUDED.is_unsubscribed,
                has_billing_issue = EXCLUDED.has_billing_issue, is_renewable = EXCLUDED.is_renewable,
                is_temporary = EXCLUDED.is_temporary, gives_premium = EXCLUDED.gives_premium
            """
        )
    }

    private static func subscription(_ row: Row) throws -> StoredSubscription {
        let store: String = try row.get("store")
        return StoredSubscription(
            store: store,
            key: try row.get("transaction_key"),
            user: try row.get("user_id", as: UserID?.self),
            state: SubscriptionState(
                store: store,
                product: try row.get("product"),
                periodType: StoreEvent.PeriodType(rawValue: try row.get("period_type")) ?? .normal,
                purchasedAt: try row.get("purchased_at", as: Instant?.self),
                expiresAt: try row.get("expires_at", as: Instant?.self),
                graceUntil: try row.get("grace_until", as: Instant?.self),
                endedAt: try row.get("ended_at", as: Instant?.self),
                isUnsubscribed: try row.get("is_unsubscribed"),
                hasBillingIssue: try row.get("has_billing_issue"),
                isRenewable: try row.get("is_renewable"),
                isTemporary: try row.get("is_temporary"),
                givesPremium: try row.get("gives_premium")
            )
        )
    }
}
