internal import BillingDomain
internal import Database
internal import Kernel

/// What all subscriptions of a user came to the last time.
struct Customer: Sendable {
    var version: Int64
    var isPremium: Bool
    var accessUntil: Instant?
    /// Premium that counts for the bonus: until when, and by which subscription.
    var paidUntil: Instant?
    var paidBy: (store: String, key: String)?
    /// The first month whose bonus has not been decided.
    var bonusMonth: Int32?
    var askAt: Instant?
}

/// Users of ours that have to do with a store.
enum CustomerRepository {
    /// Those of these users that are known here.
    static func known(_ users: [UserID], _ sql: some QueryExecutor) async throws -> Set<UserID> {
        Set(
            try await sql.query("SELECT user_id FROM customer WHERE user_id = ANY(\(users))").map {
                try $0.decode(as: UserID.self)
            }
        )
    }

    static func add(_ users: [UserID], _ sql: some QueryExecutor) async throws {
        _ = try await sql.execute(
            "INSERT INTO customer (user_id) SELECT u.id FROM unnest(\(users)) AS u (id) ON CONFLICT DO NOTHING"
        )
    }

    /// Locks a user's subscriptions.
    static func lock(_ user: UserID, _ sql: Transaction) async throws -> Customer {
        try await add([user], sql)
        let rows = try await sql.query(
            """
            SELECT version, is_premium, access_until, paid_until, paid_store, paid_key, bonus_month, ask_at
            FROM customer WHERE user_id = \(user) FOR UPDATE
            """
        )
        guard
            let (version, isPremium, accessUntil, paidUntil, store, key, month, askAt) = try rows.first?.decode(
                as: (
                    Int64.self, Bool.self, Instant?.self, Instant?.self, String?.self, String?.self, Int32?.self, Instant?.self
                )
            )
        else { throw ServiceError.internal }
        var paidBy: (store: String, key: String)?
        if let store, let key { paidBy = (store, key) }
        return Customer(
            version: version,
            isPremium: isPremium,
            accessUntil: accessUntil,
            paidUntil: paidUntil,
            paidBy: paidBy,
            bonusMonth: month,
            askAt: askAt
        )
    }

    static func store(_ customer: Customer, of user: UserID, dueAt: Instant?, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE customer SET version = \(customer.version), is_premium = \(customer.isPremium),
                access_until = \(customer.accessUntil), due_at = \(dueAt), paid_until = \(customer.paidUntil),
                paid_store = \(customer.paidBy?.store), paid_key = \(customer.paidBy?.key), bonus_month = \(customer.bonusMonth),
                ask_at = \(customer.askAt)
            WHERE user_id = \(user)
            """
        )
    }

    /// Some of whom something changes by itself. Replicas skip those that another one works on.
    static func lockDue(now: Instant, limit: Int, _ sql: Transaction) async throws -> [UserID] {
        try await sql.query(
            "SELECT user_id FROM customer WHERE due_at <= \(now) ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED"
        ).map { try $0.decode(as: UserID.self) }
    }

    static func oldestDue(_ sql: some QueryExecutor) async throws -> Instant? {
        try await sql.query("SELECT min(due_at) FROM customer WHERE due_at IS NOT NULL").first?.decode(as: Instant?.self)
    }

    /// Some about whom the store is to be asked; others leave them alone until `later`.
    static func leaseAsks(now: Instant, until later: Instant, limit: Int, _ database: Database) async throws -> [(UserID, Int32)]
    {
        try await database.query(
            """
            UPDATE customer SET ask_at = \(later) WHERE user_id IN
                (SELECT user_id FROM customer WHERE ask_at <= \(now) ORDER BY ask_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING user_id, ask_attempts
            """
        ).map { try $0.decode(as: (UserID.self, Int32.self)) }
    }

    static func oldestAsk(_ sql: some QueryExecutor) async throws -> Instant? {
        try await sql.query("SELECT min(ask_at) FROM customer WHERE ask_at IS NOT NULL").first?.decode(as: Instant?.self)
    }

    /// The store did not answer.
    static func postponeAsk(_ user: UserID, until later: Instant, _ database: Database) async throws {
        _ = try await database.execute(
            "UPDATE customer SET ask_at = \(later), ask_attempts = ask_attempts + 1 WHERE user_id = \(user)"
        )
    }

    /// The store has answered.
    static func endAsk(_ user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE customer SET ask_at = NULL, ask_attempts = 0 WHERE user_id = \(user)")
    }

    /// The store is to be asked at once.
    static func ask(_ users: [UserID], now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE customer SET ask_at = \(now) WHERE user_id = ANY(\(users))")
    }

    /// Notes the bonus of a month. - Returns: whether neither the user nor the subscription has had it.
    static func addBonus(_ month: Int32, of user: UserID, by paid: (store: String, key: String), _ sql: Transaction) async throws
        -> Bool
    {
        try await sql.execute(
            """
            INSERT INTO premium_bonus (user_id, month, store, transaction_key)
            VALUES (\(user), \(month), \(paid.store), \(paid.key)) ON CONFLICT DO NOTHING
            """
        ) > 0
    }

    /// The customers of these names are to be deleted at the store too, if there ever was one.
    static func addDeletion(_ user: UserID, names: [String], now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO store_deletion (user_id, due_at, names)
            SELECT user_id, \(now)::timestamptz, \(names)::text[] FROM customer WHERE user_id = \(user)
            ON CONFLICT DO NOTHING
            """
        )
    }

    /// A purged user who is to be deleted at the store.
    struct Deletion: Sendable {
        let user: UserID
        let attempts: Int32
        /// As RevenueCat writes the id.
        let names: [String]
    }

    /// Some users to be deleted at the store; others leave them alone until `later`.
    static func leaseDeletions(now: Instant, until later: Instant, _ database: Database) async throws -> [Deletion] {
        try await database.query(
            """
            UPDATE store_deletion SET due_at = \(later), attempts = attempts + 1 WHERE user_id IN
                (SELECT user_id FROM store_deletion WHERE due_at <= \(now) ORDER BY due_at LIMIT 10 FOR UPDATE SKIP LOCKED)
            RETURNING user_id, attempts, names
            """
        ).map { row in
            let (user, attempts, names) = try row.decode(as: (UserID.self, Int32.self, [String]?.self))
            return Deletion(user: user, attempts: attempts, names: names ?? [user.description])
        }
    }

    static func postponeDeletion(_ user: UserID, until later: Instant, _ database: Database) async throws {
        _ = try await database.execute("UPDATE store_deletion SET due_at = \(later) WHERE user_id = \(user)")
    }

    static func oldestDeletion(_ sql: some QueryExecutor) async throws -> Instant? {
        try await sql.query("SELECT min(due_at) FROM store_deletion").first?.decode(as: Instant?.self)
    }

    static func endDeletion(_ user: UserID, _ database: Database) async throws {
        _ = try await database.execute("DELETE FROM store_deletion WHERE user_id = \(user)")
    }
}
