internal import Database
internal import Kernel
internal import StreaksCore

/// What users must confirm who want everything of their habits deleted.
enum ClearingRepository {
    /// Stores the token of the first step; an earlier one is not valid any more.
    static func store(_ token: OperationID, of user: UserID, until: Instant, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            INSERT INTO habit_clearing (user_id, token, expires_at) VALUES (\(user), \(token), \(until))
            ON CONFLICT (user_id) DO UPDATE SET token = EXCLUDED.token, expires_at = EXCLUDED.expires_at
            """
        )
    }

    /// Uses a token up. - Returns: whether it was valid.
    static func take(_ token: OperationID, of user: UserID, at now: Instant, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            "DELETE FROM habit_clearing WHERE user_id = \(user) AND token = \(token) AND expires_at > \(now)"
        ) > 0
    }

    /// Deletes tokens that are not valid any more. - Returns: how many.
    static func deleteExpired(at now: Instant, limit: Int, _ sql: some QueryExecutor) async throws -> Int {
        try await sql.execute(
            """
            DELETE FROM habit_clearing WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM habit_clearing WHERE expires_at <= \(now) LIMIT \(limit)))
            """
        )
    }
}
