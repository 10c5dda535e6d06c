internal import Database
internal import Kernel

/// Who has looked at a leaderboard in which week.
enum ViewRepository {
    /// Notes views. - Returns: those that are the first of their user in their week.
    static func add(_ views: [ViewCounter.View], _ sql: Transaction) async throws -> [ViewCounter.View] {
        try await sql.query(
            """
            INSERT INTO leaderboard_view (user_id, week)
            SELECT * FROM unnest(\(views.map(\.user)), \(views.map(\.week))) AS new (user_id, week) ORDER BY user_id, week
            ON CONFLICT DO NOTHING RETURNING user_id, week
            """
        ).map { row in
            let (user, week) = try row.decode(as: (UserID.self, CalendarDate.self))
            return ViewCounter.View(user: user, week: week)
        }
    }

    /// Deletes what no further view of the same week can follow. - Returns: how many.
    static func delete(before week: CalendarDate, _ database: Database) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM leaderboard_view WHERE (user_id, week) IN
                (SELECT user_id, week FROM leaderboard_view WHERE week < \(week) ORDER BY week LIMIT 5000)
            """
        )
    }
}
