package import Database
package import Kernel
package import StreaksDomain

/// What users have bought for their streaks and not used yet (BI-5), in the caller's transaction. A user's stock of a good is a row and its
/// own lock.
///
/// Freezes are not kept here: they are in the hand of the check-in streak at once. What is here of them, or of repairs, are credits: what was
/// paid for and could not be applied. Shields are here only until they protect the check-in streak (`BoughtShield`).
package enum GoodsStock {
    /// Adds goods. A purged user gets none.
    package static func give(_ good: StreakGood, _ count: Int32 = 1, to user: UserID, _ sql: Transaction) async throws {
        guard count > 0 else { return }
        _ = try await sql.execute(
            """
            INSERT INTO goods_stock AS s (user_id, good, count) SELECT \(user)::uuid, \(good.rawValue)::text, \(count)::integer
            WHERE NOT EXISTS (SELECT 1 FROM purged_user WHERE user_id = \(user))
            ON CONFLICT (user_id, good) DO UPDATE SET count = s.count + EXCLUDED.count
            """
        )
    }

    /// Takes one, and locks the user's stock of it.
    ///
    /// - Returns: false when there is none; then nothing has changed.
    package static func take(_ good: StreakGood, from user: UserID, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            "UPDATE goods_stock SET count = count - 1 WHERE user_id = \(user) AND good = \(good.rawValue) AND count > 0"
        ) > 0
    }

    /// How many a user has, for another statement.
    package static func countOf(_ good: StreakGood, of user: UserID) -> Query {
        "coalesce((SELECT count FROM goods_stock WHERE user_id = \(user) AND good = \(good.rawValue)), 0)"
    }

    /// How many a user has.
    package static func count(of good: StreakGood, of user: UserID, _ sql: some QueryExecutor) async throws -> Int32 {
        try await all(of: user, sql)[good] ?? 0
    }

    /// All that a user has; what there is none of is absent.
    package static func all(of user: UserID, _ sql: some QueryExecutor) async throws -> [StreakGood: Int32] {
        let rows = try await sql.query("SELECT good, count FROM goods_stock WHERE user_id = \(user) AND count > 0")
        var stock: [StreakGood: Int32] = [:]
        for row in rows {
            let (name, count) = try row.decode(as: (String.self, Int32.self))
            if let good = StreakGood(rawValue: name) { stock[good] = count }
        }
        return stock
    }

    /// Takes so many, as far as there are any, and locks the user's stock of it. - Returns: how many were taken.
    package static func take(upTo count: Int32, of good: StreakGood, from user: UserID, _ sql: Transaction) async throws -> Int32
    {
        let held =
            try await sql.query(
                "SELECT count FROM goods_stock WHERE user_id = \(user) AND good = \(good.rawValue) FOR UPDATE"
            ).first?.decode(as: Int32.self) ?? 0
        let taken = min(max(0, count), held)
        guard taken > 0 else { return 0 }
        _ = try await sql.execute(
            "UPDATE goods_stock SET count = count - \(taken) WHERE user_id = \(user) AND good = \(good.rawValue)"
        )
        return taken
    }
}
