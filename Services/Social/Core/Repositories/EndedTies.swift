package import Database
package import Kernel

/// How much of what a user shared with others ended with the deletion of the account (AU-7).
package enum EndedTies {
    /// What ended. The numbers are those of the table.
    package enum Kind: Int16, Sendable {
        case friendships = 1
        case circles = 2
    }

    /// Notes how many ended. A later deletion of the same account replaces it, the same one changes nothing.
    ///
    /// - Parameter deletedAt: which deletion.
    package static func note(_ amount: Int, _ kind: Kind, of user: UserID, deletedAt: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO ended_ties (user_id, kind, deleted_at, amount)
            VALUES (\(user), \(kind.rawValue), \(deletedAt), \(Int32(clamping: amount)))
            ON CONFLICT (user_id, kind) DO UPDATE SET deleted_at = EXCLUDED.deleted_at, amount = EXCLUDED.amount
            WHERE ended_ties.deleted_at < EXCLUDED.deleted_at
            """
        )
    }

    /// How many ended with a deletion; a kind that it has not been applied to yet is absent.
    package static func amounts(of user: UserID, deletedAt: Instant, _ database: Database) async throws -> [Kind: Int32] {
        let rows = try await database.query(
            "SELECT kind, amount FROM ended_ties WHERE user_id = \(user) AND deleted_at = \(deletedAt)"
        ).map { try $0.decode(as: (Int16.self, Int32.self)) }
        return Dictionary(rows.compactMap { kind, amount in Kind(rawValue: kind).map { ($0, amount) } }) { first, _ in first }
    }
}
