internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// Reads completions of habits.
enum CompletionReads {
    /// A completion with what became of its date.
    struct Entry: Sendable {
        let completion: CompletionRecord
        let status: HabitDay.Status?
    }

    static func completion(_ id: CompletionID, of user: UserID, _ streak: StreakID) -> Query {
        """
        SELECT \(CompletionRecord.columns) FROM habit_completion
        WHERE user_id = \(user) AND id = \(id) AND streak_id = \(streak)
        """
    }

    /// - Throws: `COMPLETION_NOT_FOUND`.
    static func find(_ id: CompletionID, of user: UserID, _ streak: StreakID, _ sql: some QueryExecutor) async throws
        -> CompletionRecord
    {
        guard let row = try await sql.query(completion(id, of: user, streak)).first else {
            throw ServiceError(.notFound, "COMPLETION_NOT_FOUND", "There is no such completion.")
        }
        return try CompletionRecord(row)
    }

    /// Whether a date of a habit has a completion; nil when there is no such habit.
    static func isCompleted(_ habit: HabitID, _ user: UserID, on date: CalendarDate, _ database: Database) async throws -> Bool? {
        try await database.query(
            """
            SELECT EXISTS (SELECT FROM habit_completion c WHERE c.streak_id = habit.streak_id AND c.on_date = \(date))
            FROM habit WHERE user_id = \(user) AND id = \(habit) AND deleted_at IS NULL
            """
        ).first?.get(at: 0)
    }

    /// Completions of a habit, the newest date first.
    ///
    /// - Parameters:
    ///   - after: the last one that was sent.
    ///   - hasNote: only those with a note.
    static func list(
        of streak: StreakID,
        after: DatedPosition?,
        hasNote: Bool,
        limit: Int,
        _ database: Database
    ) async throws -> [Entry] {
        let place: Query = after.map { "(c.on_date, c.id) < (\($0.date), \($0.id))" } ?? "true"
        let note: Query = hasNote ? "c.note <> ''" : "true"
        return try await database.query(
            """
            SELECT \(CompletionRecord.columnsOfC), d.status
            FROM habit_completion c LEFT JOIN habit_day d ON d.streak_id = c.streak_id AND d.on_date = c.on_date
            WHERE c.streak_id = \(streak) AND \(place) AND \(note)
            ORDER BY c.on_date DESC, c.id DESC LIMIT \(limit)
            """
        ).map { row in
            Entry(
                completion: try CompletionRecord(row),
                status: try row.get(at: CompletionRecord.columnCount, as: Int32?.self).flatMap(HabitDay.Status.init(rawValue:))
            )
        }
    }

    /// The streak of a habit.
    ///
    /// - Throws: `HABIT_NOT_FOUND`.
    static func streak(of habit: HabitID, _ user: UserID, _ database: Database) async throws -> StreakID {
        let rows = try await database.query(
            "SELECT streak_id FROM habit WHERE user_id = \(user) AND id = \(habit) AND deleted_at IS NULL"
        )
        guard let row = rows.first else { throw ServiceError.habitNotFound }
        return try row.get(at: 0)
    }
}
