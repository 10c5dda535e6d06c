package import Database
package import Kernel
package import Outbox
internal import StreaksDomain

/// One cause of XP.
package struct XPEntry: Hashable, Sendable {
    package let user: UserID
    /// Unique for the user: the same cause is posted once, however often it is tried.
    package let key: String
    /// Above 0.
    package let amount: Int
    /// A word for the user's list: `check_in`.
    package let cause: String

    package init(_ user: UserID, key: String, amount: Int, cause: String) {
        (self.user, self.key, self.amount, self.cause) = (user, key, amount, cause)
    }
}

/// What a user's postings come to.
package struct XPAccount: Hashable, Sendable {
    package var balance: Int64 = 0
    package var lifetime: Int64 = 0
    package var level: Int { XPLevel(lifetime: lifetime).number }
}

/// Experience points of users (CI-6): every posting once by its key, in the transaction of what causes it.
package enum XPLedger {
    /// Queues the posting of each entry whose key the user does not have yet. Accounts are locked in the order of the users' ids.
    ///
    /// - Parameter raisesLevel: whether they count for the level; what is given back does not.
    package static func post(_ entries: [XPEntry], raisesLevel: Bool = true, _ work: UnitOfWork) throws {
        // Those of one user one by one: with the same of others in a shared transaction each becomes one statement.
        let isOfOne = Set(entries.map(\.user)).count == 1
        let postings = isOfOne ? entries.map { [$0] } : [entries]
        for entries in postings where !entries.isEmpty {
            try work.sql.enqueue(
                """
                WITH added AS (INSERT INTO xp_posting (user_id, key, amount, cause, posted_at)
                    SELECT person, name, points, because, at FROM \(rows: .of(entries.map(\.user)), .of(entries.map(\.key)),
                        .of(entries.map { Int32($0.amount) }), .of(entries.map(\.cause)), .of(entries.map { _ in work.now }))
                        AS wanted (person, name, points, because, at) ORDER BY person, name
                    ON CONFLICT DO NOTHING RETURNING user_id, amount)
                INSERT INTO xp_account AS known (user_id, balance, lifetime)
                SELECT user_id, sum(amount), CASE WHEN \(raisesLevel) THEN sum(amount) ELSE 0 END
                FROM added GROUP BY user_id ORDER BY user_id
                ON CONFLICT (user_id) DO UPDATE SET balance = known.balance + EXCLUDED.balance,
                    lifetime = known.lifetime + EXCLUDED.lifetime
                """
            )
        }
    }

    /// Which of these entries, of one user, have been posted.
    package static func posted(_ entries: [XPEntry], _ sql: some QueryExecutor) async throws -> Set<XPEntry> {
        guard let first = entries.first else { return [] }
        let keys = entries.dropFirst().reduce("\(first.key)" as Query) { "\($0), \($1.key)" }
        let rows = try await sql.query("SELECT key FROM xp_posting WHERE user_id = \(first.user) AND key IN (\(keys))")
        let known = Set(try rows.map { try $0.decode(as: String.self) })
        return Set(entries.filter { known.contains($0.key) })
    }

    /// Spends XP, once for each key.
    ///
    /// - Parameter amount: above 0.
    /// - Returns: the balance after it.
    /// - Throws: `NOT_ENOUGH_XP`; then nothing was changed.
    @discardableResult
    package static func spend(_ amount: Int, by user: UserID, key: String, cause: String, _ work: UnitOfWork) async throws
        -> Int64
    {
        // The account first: of two who spend at once, the second sees what the first has left.
        let balance =
            try await work.sql.query("SELECT balance FROM xp_account WHERE user_id = \(user) FOR UPDATE")
            .first?.decode(as: Int64.self) ?? 0
        let isKnown = try await !work.sql.query("SELECT 1 FROM xp_posting WHERE user_id = \(user) AND key = \(key)").isEmpty
        if isKnown { return balance }
        guard balance >= Int64(amount) else { throw ServiceError.notEnoughXP(balance: balance, price: amount) }
        _ = try await work.sql.execute(
            """
            WITH spent AS (INSERT INTO xp_posting (user_id, key, amount, cause, posted_at)
                VALUES (\(user), \(key), \(-Int32(amount)), \(cause), \(work.now)))
            UPDATE xp_account SET balance = balance - \(Int64(amount)) WHERE user_id = \(user)
            """
        )
        return balance - Int64(amount)
    }

    /// What a user has; nothing for who never earned any.
    package static func account(of user: UserID, _ sql: some QueryExecutor) async throws -> XPAccount {
        try await sql.query("SELECT balance, lifetime FROM xp_account WHERE user_id = \(user)").first.map { row in
            XPAccount(balance: try row.get(at: 0), lifetime: try row.get(at: 1))
        } ?? XPAccount()
    }

    /// A posting as a user's list shows it.
    package struct Posted: Sendable {
        package let amount: Int32
        package let cause: String
        package let at: Instant
    }

    /// The last postings of a user, the newest first.
    package static func latest(of user: UserID, limit: Int, _ sql: some QueryExecutor) async throws -> [Posted] {
        try await sql.query(
            """
            SELECT amount, cause, posted_at FROM xp_posting WHERE user_id = \(user) ORDER BY posted_at DESC, key LIMIT \(limit)
            """
        ).map { Posted(amount: try $0.get(at: 0), cause: try $0.get(at: 1), at: try $0.get(at: 2)) }
    }
}

extension ServiceError {
    /// - Parameters:
    ///   - balance: what there is.
    ///   - price: what it takes.
    package static func notEnoughXP(balance: Int64, price: Int) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            "NOT_ENOUGH_XP",
            "You do not have enough XP.",
            details: [Detail(field: "balance", message: "\(balance)"), Detail(field: "price", message: "\(price)")]
        )
    }
}
