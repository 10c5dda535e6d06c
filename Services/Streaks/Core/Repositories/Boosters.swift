package import Database
package import Kernel

/// When users' XP count half as many again (TS-3).
package enum Boosters {
    /// How long one lasts.
    package static let length = Interval.days(7)

    /// Whether a booster of the user is at work at an instant.
    package static func isActive(_ user: UserID, at instant: Instant) -> Query {
        "EXISTS (SELECT FROM booster WHERE user_id = \(user) AND begins_at <= \(instant) AND ends_at > \(instant))"
    }

    /// Begins one: now, or at the end of the last one that has not ended. Calls for one user must exclude each other (`GoodsStock.take`).
    ///
    /// - Returns: its end.
    package static func begin(_ operation: OperationID, for user: UserID, now: Instant, _ sql: Transaction) async throws
        -> Instant
    {
        let last = try await sql.query(
            "SELECT max(ends_at) FROM booster WHERE user_id = \(user) AND ends_at > \(now)"
        ).first?.decode(as: Instant?.self)
        let begin = (last ?? nil) ?? now
        _ = try await sql.execute(
            """
            INSERT INTO booster (operation_id, user_id, begins_at, ends_at)
            VALUES (\(operation), \(user), \(begin), \(begin + length))
            """
        )
        return begin + length
    }
}
