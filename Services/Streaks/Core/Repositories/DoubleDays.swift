package import Database
package import Kernel

/// Dates on which a user's coins count twice (TS-2): those of all their typed streaks and of milestones.
package enum DoubleDays {
    /// Whether a user's coins count twice on a date.
    package static func isDoubled(_ user: UserID, on date: CalendarDate, _ sql: some QueryExecutor) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM double_day WHERE user_id = \(user) AND on_date = \(date)").isEmpty
    }

    /// Those of these users' dates on which coins count twice.
    package static func doubled(_ dates: [(user: UserID, date: CalendarDate)], _ sql: some QueryExecutor) async throws
        -> Set<UserDate>
    {
        guard !dates.isEmpty else { return [] }
        return Set(
            try await sql.query(
                """
                SELECT user_id, on_date FROM double_day
                WHERE (user_id, on_date) IN (SELECT * FROM unnest(\(dates.map(\.user)), \(dates.map(\.date))))
                """
            ).map { row in
                let (user, date) = try row.decode(as: (UserID.self, CalendarDate.self))
                return UserDate(user: user, date: date)
            }
        )
    }

    /// A user's local date.
    package struct UserDate: Hashable, Sendable {
        package let user: UserID
        package let date: CalendarDate

        package init(user: UserID, date: CalendarDate) { (self.user, self.date) = (user, date) }
    }

    /// Notes that the date has earned more by it: it does not come back.
    package static func setHelped(_ user: UserID, on date: CalendarDate, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE double_day SET has_helped = true WHERE user_id = \(user) AND on_date = \(date) AND NOT has_helped"
        )
    }

    /// Doubles a date. - Returns: false when it is doubled already.
    package static func add(_ operation: OperationID, to date: CalendarDate, of user: UserID, _ sql: Transaction) async throws
        -> Bool
    {
        try await sql.execute(
            """
            INSERT INTO double_day (user_id, on_date, operation_id) VALUES (\(user), \(date), \(operation)) ON CONFLICT DO NOTHING
            """
        ) > 0
    }

    /// The doubled dates of a user from `date` on.
    package static func all(of user: UserID, from date: CalendarDate, _ sql: some QueryExecutor) async throws -> [CalendarDate] {
        try await sql.query("SELECT on_date FROM double_day WHERE user_id = \(user) AND on_date >= \(date) ORDER BY on_date").map
        {
            try $0.decode(as: CalendarDate.self)
        }
    }

    /// Takes a doubling back that has not helped. - Returns: whether it was taken.
    package static func remove(_ operation: OperationID, of user: UserID, on date: CalendarDate, _ sql: Transaction) async throws
        -> Bool
    {
        try await sql.execute(
            """
            DELETE FROM double_day
            WHERE user_id = \(user) AND on_date = \(date) AND operation_id = \(operation) AND NOT has_helped
            """
        ) > 0
    }
}
