package import Database
package import Kernel

/// What administrators read of streaks, of every user (`inspector.proto`).
package enum InspectorReads {
    /// Up to `limit` streaks that a user is or was a member of, of every kind, the one that began last first.
    ///
    /// - Parameter place: when the last one of the page before began, and its id.
    package static func streaks(
        of user: UserID,
        after place: (startedAt: Instant, id: StreakID)?,
        limit: Int,
        _ sql: some QueryExecutor
    ) async throws -> [StreakRow] {
        let rest: Query = place.map { "WHERE (s.started_at, s.id) < (\($0.startedAt), \($0.id))" } ?? ""
        // Each half has an index of its own.
        return try await sql.query(
            """
            SELECT \(StreakRow.columns) FROM (
                SELECT streak_id FROM streak_member WHERE user_id = \(user) AND left_at IS NULL
                UNION ALL SELECT streak_id FROM streak_member WHERE user_id = \(user) AND left_at IS NOT NULL) AS mine
            CROSS JOIN LATERAL (SELECT * FROM streak WHERE id = mine.streak_id OFFSET 0) AS s \(rest)
            ORDER BY s.started_at DESC, s.id DESC LIMIT \(limit)
            """
        ).mapInSlices(StreakRow.init)
    }
}
