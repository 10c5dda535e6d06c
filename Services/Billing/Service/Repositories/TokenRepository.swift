internal import BillingAPI
internal import BillingDomain
internal import Database
internal import Kernel

/// A posting to a ledger.
struct Posting: Sendable {
    var user: UserID
    var type: TokenLedger.EntryType
    var amount: Int32
    var streak: StreakID?
    var note: String?
    /// The same key is posted once per user (BI-3).
    var key: String
}

/// The ledger of recovery tokens.
struct TokenRepository: Sendable {
    let database: Database

    /// Posts once per key.
    ///
    /// - Returns: the balance after it with its version; nil when it had been posted before.
    /// - Throws: `NO_RECOVERY_TOKENS` when the balance would become negative.
    func post(_ posting: Posting, id: LedgerEntryID, now: Instant, _ sql: Transaction) async throws -> (
        balance: Int32, version: Int64
    )? {
        let (before, version) = try await lock(posting.user, sql)
        let known = try await sql.query(
            "SELECT 1 FROM token_entry WHERE user_id = \(posting.user) AND posting_key = \(posting.key)"
        )
        guard known.isEmpty else { return nil }
        let after = try TokenLedger.balance(after: posting.amount, from: before)
        _ = try await sql.execute(
            """
            INSERT INTO token_entry (id, user_id, type, amount, balance_after, streak_id, note, posting_key, created_at)
            VALUES (\(id), \(posting.user), \(posting.type.rawValue), \(posting.amount), \(after), \(posting.streak), \(posting.note),
                \(posting.key), \(now))
            """
        )
        _ = try await sql.execute(
            "UPDATE token_balance SET balance = \(after), version = \(version + 1) WHERE user_id = \(posting.user)"
        )
        return (after, version + 1)
    }

    /// The balance row is the lock of the ledger: postings of one user follow each other.
    func lock(_ user: UserID, _ sql: Transaction) async throws -> (balance: Int32, version: Int64) {
        _ = try await sql.execute("INSERT INTO token_balance (user_id) VALUES (\(user)) ON CONFLICT DO NOTHING")
        let rows = try await sql.query("SELECT balance, version FROM token_balance WHERE user_id = \(user) FOR UPDATE")
        guard let (balance, version) = try rows.first?.decode(as: (Int32.self, Int64.self)) else { throw ServiceError.internal }
        return (balance, version)
    }

    func balance(of user: UserID) async throws -> Int32 {
        try await database.query("SELECT balance FROM token_balance WHERE user_id = \(user)").first?.decode(as: Int32.self) ?? 0
    }

    /// The newest rows first.
    func entries(of user: UserID, limit: Int) async throws -> [TokenEntry] {
        try await database.query(
            """
            SELECT id, type, amount, balance_after, streak_id, note, created_at FROM token_entry
            WHERE user_id = \(user) ORDER BY created_at DESC, id DESC LIMIT \(limit)
            """
        ).map { row in
            let (id, type, amount, after, streak, note, createdAt) = try row.decode(
                as: (LedgerEntryID.self, Int32.self, Int32.self, Int32.self, StreakID?.self, String?.self, Instant.self)
            )
            return TokenEntry(
                id: id,
                type: TokenEntryType(rawValue: type),
                amount: amount,
                balanceAfter: after,
                streakID: streak,
                note: note,
                createdAt: createdAt
            )
        }
    }
}
