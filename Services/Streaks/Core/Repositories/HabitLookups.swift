package import Database
package import Kernel
internal import StreaksDomain

/// What a change of habits asks before it writes. The account is locked: no other change of the user comes between.
extension HabitRepository {
    /// How many habits a user has.
    struct Counts: Sendable {
        /// Neither in the archive nor deleted.
        let active: Int
        /// Not deleted.
        let all: Int
        /// Those too that were deleted within 30 days.
        let stored: Int
    }

    static func counts(of user: UserID, _ sql: some QueryExecutor) async throws -> Counts {
        let rows = try await sql.query(
            """
            SELECT count(*) FILTER (WHERE deleted_at IS NULL AND archived_at IS NULL), count(*) FILTER (WHERE deleted_at IS NULL), count(*)
            FROM habit WHERE user_id = \(user)
            """
        )
        let (active, all, stored) = try rows.first?.decode(as: (Int.self, Int.self, Int.self)) ?? (0, 0, 0)
        return Counts(active: active, all: all, stored: stored)
    }

    /// The dates of all habits of a user since the first of each, deleted ones too.
    static func dates(of user: UserID, until today: CalendarDate, _ sql: some QueryExecutor) async throws -> Int {
        try await sql.query(
            """
            SELECT coalesce(sum(greatest(0, \(today) - least(starts_on, created_at::date))), 0)::bigint
            FROM habit WHERE user_id = \(user)
            """
        ).first?.get(at: 0) ?? 0
    }

    /// Whether a habit of this id exists, deleted ones too.
    static func exists(_ id: HabitID, of user: UserID, _ sql: some QueryExecutor) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM habit WHERE user_id = \(user) AND id = \(id)").isEmpty
    }

    static func isNameTaken(_ name: String, of user: UserID, except id: HabitID?, _ sql: some QueryExecutor) async throws -> Bool
    {
        try await !sql.query(
            """
            SELECT 1 FROM habit WHERE user_id = \(user) AND name_key = normalize(\(HabitText.key(name)), NFC)
                AND deleted_at IS NULL AND id IS DISTINCT FROM \(id)
            """
        ).isEmpty
    }

    /// All, deleted ones too.
    static func ids(of user: UserID, _ sql: some QueryExecutor) async throws -> [HabitID] {
        try await sql.query("SELECT id FROM habit WHERE user_id = \(user)").map { try $0.get(at: 0) }
    }

    static func streaks(of user: UserID, _ ids: [HabitID], _ condition: Query, _ sql: some QueryExecutor) async throws
        -> [StreakID]
    {
        try await sql.query("SELECT streak_id FROM habit h WHERE user_id = \(user) AND id = ANY(\(ids)) AND \(condition)")
            .map { try $0.get(at: 0) }
    }

    /// Where a completion is.
    struct Place: Sendable {
        let streak: StreakID
        let date: CalendarDate
    }

    static func places(of completions: [CompletionID], of user: UserID, _ sql: some QueryExecutor) async throws
        -> [CompletionID: Place]
    {
        guard !completions.isEmpty else { return [:] }
        let rows = try await sql.query(
            "SELECT id, streak_id, on_date FROM habit_completion WHERE user_id = \(user) AND id = ANY(\(completions))"
        )
        return Dictionary(
            try rows.map { (try $0.get(at: 0), Place(streak: try $0.get(at: 1), date: try $0.get(at: 2))) }
        ) { first, _ in first }
    }

    /// Where completions are, and whose habits they belong to; of deleted habits too.
    package struct CompletionPlace: Sendable {
        package let habit: HabitID
        package let date: CalendarDate

        package init(habit: HabitID, date: CalendarDate) { (self.habit, self.date) = (habit, date) }
    }

    package static func completions(_ ids: [CompletionID], of user: UserID, _ sql: some QueryExecutor) async throws
        -> [CompletionID: CompletionPlace]
    {
        guard !ids.isEmpty else { return [:] }
        let rows = try await sql.query(
            """
            SELECT c.id, h.id, c.on_date FROM habit_completion c JOIN habit h ON h.streak_id = c.streak_id
            WHERE c.user_id = \(user) AND c.id = ANY(\(ids))
            """
        )
        return Dictionary(
            try rows.map { (try $0.get(at: 0), CompletionPlace(habit: try $0.get(at: 1), date: try $0.get(at: 2))) }
        ) { first, _ in first }
    }

    /// The names of a user's habits, those in the archive too.
    package static func names(of user: UserID, _ sql: some QueryExecutor) async throws -> [HabitID: String] {
        let rows = try await sql.query("SELECT id, name FROM habit WHERE user_id = \(user) AND deleted_at IS NULL")
        return Dictionary(try rows.map { (try $0.get(at: 0), try $0.get(at: 1)) }) { first, _ in first }
    }

    /// - Returns: whether there is such a completion.
    static func describe(_ id: CompletionID, _ details: CompletionDetails, _ change: HabitStamp, _ sql: Transaction) async throws
        -> Bool
    {
        try await sql.execute(
            """
            UPDATE habit_completion SET note = \(details.note), mood = \(details.mood?.rawValue), done_at = \(details.doneAt),
                minute = \(details.minute.map(Int32.init)), updated_at = \(change.now), sequence = \(change.sequence)
            WHERE user_id = \(change.user) AND id = \(id)
            """
        ) > 0
    }

    /// Changes parts of the details of completions; those that do not exist are left out.
    static func patch(_ patches: [CompletionID: CompletionPatch], _ change: HabitStamp, _ sql: Transaction) throws {
        let all = patches.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
        guard !all.isEmpty else { return }
        let moods = all.map(\.value.mood)
        let times = all.map(\.value.time)
        try sql.enqueue(
            """
            UPDATE habit_completion SET note = coalesce(new.note, habit_completion.note),
                mood = CASE WHEN has_mood THEN new.mood ELSE habit_completion.mood END,
                done_at = CASE WHEN has_time THEN new.done_at ELSE habit_completion.done_at END,
                minute = CASE WHEN has_time THEN new.minute ELSE habit_completion.minute END,
                updated_at = \(change.now), sequence = \(change.sequence)
            FROM unnest(\(all.map(\.key)), \(all.map(\.value.note)), \(moods.map { $0 != nil }),
                \(moods.map { ($0 ?? nil)?.rawValue }), \(times.map { $0 != nil }), \(times.map { $0?.doneAt }),
                \(times.map { $0?.minute.map { Int32(clamping: $0) } }))
                AS new (id, note, has_mood, mood, has_time, done_at, minute)
            WHERE habit_completion.user_id = \(change.user) AND habit_completion.id = new.id
            """
        )
    }

    /// Its completions and skips are new to devices.
    static func renumber(_ streak: StreakID, _ change: HabitStamp, _ sql: Transaction) throws {
        try sql.enqueue("UPDATE habit_completion SET sequence = \(change.sequence) WHERE streak_id = \(streak)")
        try sql.enqueue("UPDATE habit_skip SET sequence = \(change.sequence) WHERE streak_id = \(streak)")
    }

    /// Deletes everything of a user's habits but the account, deleted ones and tombstones too.
    static func clear(of user: UserID, _ sql: Transaction) async throws {
        // What a streak is deleted with is deleted by it.
        _ = try await sql.execute(
            "DELETE FROM streak WHERE id = ANY(ARRAY(SELECT streak_id FROM habit WHERE user_id = \(user)))"
        )
        try sql.enqueue("DELETE FROM habit_category WHERE user_id = \(user)")
        try sql.enqueue("DELETE FROM habit_day_note WHERE user_id = \(user)")
        try sql.enqueue("DELETE FROM habit_tombstone WHERE user_id = \(user)")
    }
}

extension HabitAccountRepository {
    static func categoryExists(_ id: HabitCategoryID, of user: UserID, _ sql: some QueryExecutor) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM habit_category WHERE user_id = \(user) AND id = \(id)").isEmpty
    }

    static func isCategoryNameTaken(
        _ name: String,
        of user: UserID,
        except id: HabitCategoryID?,
        _ sql: some QueryExecutor
    ) async throws -> Bool {
        try await !sql.query(
            """
            SELECT 1 FROM habit_category WHERE user_id = \(user) AND name_key = normalize(\(HabitText.key(name)), NFC)
                AND id IS DISTINCT FROM \(id)
            """
        ).isEmpty
    }
}
