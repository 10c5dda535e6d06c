internal import Database
internal import Kernel

/// When a user last nudged a friend (SO-6).
enum NudgeRepository {
    /// When `from` last nudged `to`, locked; nil for never.
    static func lock(_ from: UserID, _ to: UserID, _ sql: Transaction) async throws -> Instant? {
        try await sql.execute(
            "INSERT INTO nudge (from_user, to_user, nudged_at) VALUES (\(from), \(to), NULL) ON CONFLICT DO NOTHING"
        )
        return try await sql.query(
            "SELECT nudged_at FROM nudge WHERE from_user = \(from) AND to_user = \(to) FOR UPDATE"
        ).first?.decode(as: Instant?.self)
    }

    /// Notes a nudge. The row is locked.
    static func store(_ from: UserID, _ to: UserID, at now: Instant, _ sql: Transaction) async throws {
        try await sql.execute("UPDATE nudge SET nudged_at = \(now) WHERE from_user = \(from) AND to_user = \(to)")
    }
}
