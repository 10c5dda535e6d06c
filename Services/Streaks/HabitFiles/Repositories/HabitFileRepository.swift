internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// Everything of habits that a file has.
enum HabitFileRepository {
    /// Completes habits with their history.
    ///
    /// - Parameters:
    ///   - records: some habits of one user; their whole history is held in memory.
    ///   - categories: the ids of the file's categories, in its order.
    static func habits(_ records: [HabitRecord], categories: [HabitCategoryID], _ sql: some QueryExecutor) async throws
        -> [FileHabit]
    {
        let streaks = records.map(\.streak)
        var archivings: [StreakID: [HabitEntries.Archiving]] = [:]
        for row in try await sql.query(
            """
            SELECT streak_id, from_date, until_date FROM habit_archiving WHERE streak_id = ANY(\(streaks)) ORDER BY streak_id, place
            """
        ) {
            archivings[try row.get(at: 0), default: []].append(.init(from: try row.get(at: 1), until: try row.get(at: 2)))
        }
        var skips: [StreakID: Set<CalendarDate>] = [:]
        for row in try await sql.query("SELECT streak_id, on_date FROM habit_skip WHERE streak_id = ANY(\(streaks))") {
            skips[try row.get(at: 0), default: []].insert(try row.get(at: 1))
        }
        var completions: [StreakID: [FileHabit.Completion]] = [:]
        // By id and not by time: an import gives ids in the order of its rows, so that an export of it has the same order.
        for row in try await sql.query(
            """
            SELECT \(CompletionRecord.columns) FROM habit_completion
            WHERE streak_id = ANY(\(streaks)) ORDER BY streak_id, on_date, id
            """
        ) {
            let record = try CompletionRecord(row)
            completions[record.streak, default: []].append(
                FileHabit.Completion(
                    id: record.id,
                    date: record.date,
                    amount: record.amount,
                    note: record.details.note,
                    mood: record.details.mood,
                    at: record.details.doneAt,
                    photo: record.photo
                )
            )
        }
        return records.map { record in
            var habit = FileHabit(id: record.id, name: record.details.name, versions: record.versions)
            habit.description = record.details.description
            (habit.color, habit.icon, habit.unit) = (record.details.color, record.details.icon, record.details.unit)
            habit.category = record.details.category.flatMap { categories.firstIndex(of: $0) }
            (habit.reminder, habit.createdAt) = (record.details.reminder, record.createdAt)
            habit.archivings = archivings[record.streak] ?? []
            habit.pauses = record.pauses.map { FileHabit.Pause(from: $0.from, until: $0.until) }
            habit.skips = skips[record.streak] ?? []
            habit.completions = completions[record.streak] ?? []
            return habit
        }
    }
}
