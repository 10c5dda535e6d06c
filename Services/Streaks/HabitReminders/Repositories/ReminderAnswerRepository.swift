internal import Database
internal import Kernel

/// What was tapped on reminders (HA-5).
enum ReminderAnswerRepository {
    struct Answer: Sendable {
        let streak: StreakID
        let user: UserID
        let date: CalendarDate
        /// Which reminder of the date.
        let number: Int32
        /// `ReminderAction` of the proto.
        let action: Int32
    }

    /// - Returns: false when it is known.
    static func insert(_ answer: Answer, at now: Instant, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            """
            INSERT INTO habit_reminder_answer (streak_id, user_id, on_date, number, action, answered_at)
            VALUES (\(answer.streak), \(answer.user), \(answer.date), \(answer.number), \(answer.action), \(now))
            ON CONFLICT DO NOTHING
            """
        ) == 1
    }

    /// Deletes old ones, up to 1,000. - Returns: how many.
    static func purge(before limit: Instant, _ database: Database) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM habit_reminder_answer WHERE ctid = ANY(ARRAY(
                SELECT ctid FROM habit_reminder_answer WHERE answered_at < \(limit) ORDER BY answered_at LIMIT 1000
                FOR UPDATE SKIP LOCKED))
            """
        )
    }
}
