internal import Database
internal import Kernel

/// Sessions that have ended: their devices get no pushes, also when the request that registers one is under way meanwhile.
enum EndedSessionRepository {
    /// Excludes registrations and the end of one session from each other, until the transaction ends.
    static func lock(_ session: SessionID, _ sql: Transaction) async throws { try await sql.lock(named: "session \(session)") }

    /// Notes the end of a session that is locked.
    static func note(_ session: SessionID, of user: UserID, at ended: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO ended_session (session_id, user_id, ended_at) VALUES (\(session), \(user), \(ended)) ON CONFLICT DO NOTHING
            """
        )
    }

    /// Whether a session that is locked has ended.
    static func contains(_ session: SessionID, _ sql: Transaction) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM ended_session WHERE session_id = \(session)").isEmpty
    }

    /// Deletes what is older, up to 1,000. - Returns: how many.
    static func purge(before limit: Instant, _ database: Database) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM ended_session WHERE session_id IN
                (SELECT session_id FROM ended_session WHERE ended_at < \(limit) ORDER BY ended_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }
}
