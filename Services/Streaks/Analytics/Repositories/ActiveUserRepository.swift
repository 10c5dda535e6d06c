internal import Database
internal import Kernel
internal import StreaksDomain

/// Who did something for which date: each user counts once a date, whatever it was and however often it comes.
enum ActiveUserRepository {
    /// For how many dates back it is known who was counted: what comes later for a date is not counted any more.
    static let keptDates = 30

    /// Notes what users did. Each time is a row of its own, so that nothing waits for a row of another transaction.
    static func add(_ activities: [(user: UserID, date: CalendarDate)], _ sql: Transaction) throws {
        guard !activities.isEmpty else { return }
        try sql.enqueue(
            """
            INSERT INTO analytics_activity (user_id, day)
            SELECT DISTINCT user_id, day FROM unnest(\(activities.map(\.user)), \(activities.map(\.date))) AS new (user_id, day)
            """
        )
    }

    /// Takes the oldest, as `FactRepository.take`. - Returns: how many, and of those whom nothing was known for the date yet, the dates.
    static func take(_ limit: Int, today: CalendarDate, _ sql: Transaction) async throws -> (count: Int, fresh: [CalendarDate]) {
        let taken = try await sql.query(
            """
            DELETE FROM analytics_activity WHERE position <=
                (SELECT max(position) FROM (SELECT position FROM analytics_activity ORDER BY position LIMIT \(limit)) AS oldest)
            RETURNING user_id, day
            """
        ).map { try $0.decode(as: (UserID.self, CalendarDate.self)) }
        let known = taken.filter { $0.1 >= today.advanced(by: -keptDates) }
        guard !known.isEmpty else { return (taken.count, []) }
        let fresh = try await sql.query(
            """
            INSERT INTO analytics_active_user (user_id, day)
            SELECT DISTINCT user_id, day FROM unnest(\(known.map(\.0)), \(known.map(\.1))) AS new (user_id, day)
            ON CONFLICT DO NOTHING RETURNING day
            """
        ).map { try $0.decode(as: CalendarDate.self) }
        return (taken.count, fresh)
    }

    /// Deletes what nothing is counted for any more. - Returns: how many rows.
    static func purge(today: CalendarDate, _ database: Database) async throws -> Int {
        // A day more than `take` asks for: clocks of replicas differ a little.
        let earliest = today.advanced(by: -keptDates - 1)
        return try await database.execute(
            """
            DELETE FROM analytics_active_user WHERE (user_id, day) IN
                (SELECT user_id, day FROM analytics_active_user WHERE day < \(earliest) ORDER BY day LIMIT 5000)
            """
        )
    }
}
