internal import BillingDomain
internal import Database
internal import Kernel

/// A transaction of the ledger: an amount between a user's account and one of the system.
struct Posting: Sendable {
    var user: UserID
    var currency = LedgerCurrency.recoveryTokens
    var type: EntryType
    /// Positive to the user, negative from the user; never 0.
    var amount: Int64
    /// The other side.
    var against: SystemAccount
    var streak: StreakID?
    var actor: UserID?
    var reverses: LedgerEntryID?
    var note: String?
    /// The same key is posted once per user (BI-3).
    var key: String
}

/// What a posting came to.
struct Posted: Sendable {
    let id: LedgerEntryID
    let balance: Int64
    let version: Int64
}

/// A row of a user's wallet.
struct LedgerRow: Sendable {
    let id: LedgerEntryID
    let type: EntryType
    let amount: Int64
    let balanceAfter: Int64
    let streak: StreakID?
    let actor: UserID?
    let note: String?
    let createdAt: Instant
}

/// The double-entry ledger (BI-3).
struct LedgerRepository: Sendable {
    let database: Database

    /// Posts once per key.
    ///
    /// Postings for several users are made in the order of their ids, and for several currencies in the order of these, so that no two
    /// transactions wait for each other.
    ///
    /// - Returns: nil when the key had been posted before.
    /// - Throws: `NO_RECOVERY_TOKENS` or `NOT_ENOUGH_COINS` when the balance would become negative.
    func post(_ posting: Posting, id: LedgerEntryID, now: Instant, _ sql: Transaction) async throws -> Posted? {
        let (before, version) = try await lock(posting.user, posting.currency, sql)
        guard try await find(posting.key, of: posting.user, sql) == nil else { return nil }
        let after = try Ledger.balance(after: posting.amount, from: before, of: posting.currency)
        _ = try await sql.execute(
            """
            INSERT INTO ledger_transaction (id, user_id, currency, type, streak_id, actor_id, reverses, note, posting_key, created_at)
            VALUES (\(id), \(posting.user), \(posting.currency.rawValue), \(posting.type.rawValue), \(posting.streak),
                \(posting.actor), \(posting.reverses), \(posting.note), \(posting.key), \(now))
            """
        )
        _ = try await sql.execute(
            """
            WITH own AS (
                UPDATE account SET balance = balance + \(posting.amount), version = version + 1
                WHERE user_id = \(posting.user) AND currency = \(posting.currency.rawValue) AND kind = 0 RETURNING balance),
            other AS (
                INSERT INTO account AS a (user_id, currency, kind, balance, version)
                VALUES (\(posting.user), \(posting.currency.rawValue), \(posting.against.rawValue), \(-posting.amount), 1)
                ON CONFLICT (user_id, currency, kind) DO UPDATE SET balance = a.balance + EXCLUDED.balance, version = a.version + 1
                RETURNING kind, balance)
            INSERT INTO posting (transaction_id, kind, amount, balance_after)
            SELECT \(id)::uuid, 0, \(posting.amount)::bigint, balance FROM own
            UNION ALL SELECT \(id)::uuid, kind, \(-posting.amount)::bigint, balance FROM other
            """
        )
        return Posted(id: id, balance: after, version: version + 1)
    }

    /// The balance row is the lock of the ledger: postings of one user and currency follow each other.
    func lock(_ user: UserID, _ currency: LedgerCurrency, _ sql: Transaction) async throws -> (balance: Int64, version: Int64) {
        _ = try await sql.execute(
            "INSERT INTO account (user_id, currency, kind) VALUES (\(user), \(currency.rawValue), 0) ON CONFLICT DO NOTHING"
        )
        let rows = try await sql.query(
            "SELECT balance, version FROM account WHERE user_id = \(user) AND currency = \(currency.rawValue) AND kind = 0 FOR UPDATE"
        )
        guard let (balance, version) = try rows.first?.decode(as: (Int64.self, Int64.self)) else { throw ServiceError.internal }
        return (balance, version)
    }

    func balance(of user: UserID, _ currency: LedgerCurrency) async throws -> Int64 {
        try await balance(of: user, currency, database)
    }

    /// The same as a transaction sees it.
    func balance(of user: UserID, _ currency: LedgerCurrency, _ sql: some QueryExecutor) async throws -> Int64 {
        try await sql.query(
            "SELECT balance FROM account WHERE user_id = \(user) AND currency = \(currency.rawValue) AND kind = 0"
        ).first?.decode(as: Int64.self) ?? 0
    }

    /// What was posted under a key.
    func find(_ key: String, of user: UserID, _ sql: some QueryExecutor) async throws -> LedgerRow? {
        try await rows("t.user_id = \(user) AND t.posting_key = \(key)", sql).first
    }

    /// A transaction by its id; nil when it is not of this user. With its currency.
    func find(_ id: LedgerEntryID, of user: UserID, _ sql: some QueryExecutor) async throws -> (
        row: LedgerRow, currency: LedgerCurrency
    )? {
        guard let row = try await rows("t.id = \(id) AND t.user_id = \(user)", sql).first,
            let number = try await sql.query("SELECT currency FROM ledger_transaction WHERE id = \(id)").first?.decode(
                as: Int32.self
            ),
            let currency = LedgerCurrency(rawValue: number)
        else { return nil }
        return (row, currency)
    }

    /// The newest rows first.
    func entries(
        of user: UserID,
        _ currency: LedgerCurrency = .recoveryTokens,
        before place: (Instant, LedgerEntryID)? = nil,
        limit: Int
    )
        async throws -> [LedgerRow]
    {
        var condition: Query = "t.user_id = \(user) AND t.currency = \(currency.rawValue)"
        if let (instant, id) = place { condition = "\(condition) AND (t.created_at, t.id) < (\(instant), \(id))" }
        return try await rows("\(condition) ORDER BY t.created_at DESC, t.id DESC LIMIT \(limit)", database)
    }

    /// The sum over all accounts of each currency: zero.
    func sums() async throws -> [LedgerCurrency: Int64] {
        var sums: [LedgerCurrency: Int64] = [:]
        for currency in LedgerCurrency.allCases {
            let rows = try await database.query(
                "SELECT coalesce(sum(balance), 0)::bigint FROM account WHERE currency = \(currency.rawValue)"
            )
            sums[currency] = try rows.first?.decode(as: Int64.self) ?? 0
        }
        return sums
    }

    private func rows(_ condition: Query, _ sql: some QueryExecutor) async throws -> [LedgerRow] {
        try await sql.query(
            """
            SELECT t.id, t.type, p.amount, p.balance_after, t.streak_id, t.actor_id, t.note, t.created_at
            FROM ledger_transaction t JOIN posting p ON p.transaction_id = t.id AND p.kind = 0
            WHERE \(condition)
            """
        ).map { row in
            let (id, type, amount, after, streak, actor, note, createdAt) = try row.decode(
                as: (
                    LedgerEntryID.self, Int32.self, Int64.self, Int64.self, StreakID?.self, UserID?.self, String?.self,
                    Instant.self
                )
            )
            return LedgerRow(
                id: id,
                type: EntryType(rawValue: type) ?? .earned,
                amount: amount,
                balanceAfter: after,
                streak: streak,
                actor: actor,
                note: note,
                createdAt: createdAt
            )
        }
    }
}
