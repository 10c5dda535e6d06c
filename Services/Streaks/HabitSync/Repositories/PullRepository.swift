internal import Database
internal import Kernel
internal import ServiceRuntime
internal import StreaksCore
internal import StreaksDomain

/// The entries of a user's habits in the order of their numbers.
struct PullRepository {
    let user: UserID
    /// The last entry that was sent.
    let after: SyncPosition
    /// The newest number: what is committed later has a later one.
    let newest: Int64
    /// Entries of each table, at most.
    let limit: Int

    /// Entries of a table that come after the position: by number, by table, by key.
    ///
    /// - Parameter key: whether an entry of the same number comes after the key of the position.
    private func isNew(_ sequence: Query, _ table: SyncPosition.Table, _ key: Query) -> Query {
        if table.rawValue > after.table.rawValue { return "\(sequence) >= \(after.sequence) AND \(sequence) <= \(newest)" }
        if table.rawValue < after.table.rawValue { return "\(sequence) > \(after.sequence) AND \(sequence) <= \(newest)" }
        return "\(key) AND \(sequence) <= \(newest)"
    }

    private func id<Entity>(_: Entity.Type) -> ID<Entity> { ID(after.key) ?? ID(high: 0, low: 0) }
    private var parts: [Substring] { after.key.split(separator: " ", maxSplits: 1) }

    private var categories: Query {
        let key: Query = "(sequence, id) > (\(after.sequence), \(id(Tag.HabitCategory.self)))"
        return """
            SELECT \(HabitCategoryRecord.columns) FROM habit_category
            WHERE user_id = \(user) AND \(isNew("sequence", .category, key)) ORDER BY sequence, id LIMIT \(limit)
            """
    }

    /// Of `habit` h: those on the page, in any order.
    private var isOnPage: Query {
        let key: Query = "(sequence, id) > (\(after.sequence), \(id(Tag.Habit.self)))"
        return """
            h.id = ANY(ARRAY(SELECT id FROM habit WHERE user_id = \(user) AND deleted_at IS NULL
                AND \(isNew("sequence", .habit, key)) ORDER BY sequence, id LIMIT \(limit)))
            """
    }

    private var completions: Query {
        let key: Query = "(c.sequence, c.id) > (\(after.sequence), \(id(Tag.Completion.self)))"
        return """
            SELECT \(CompletionRecord.columnsOfC), h.id
            FROM habit_completion c JOIN habit h ON h.streak_id = c.streak_id
            WHERE c.user_id = \(user) AND h.deleted_at IS NULL AND \(isNew("c.sequence", .completion, key))
            ORDER BY c.sequence, c.id LIMIT \(limit)
            """
    }

    private var skips: Query {
        let streak = parts.first.flatMap { StreakID($0) } ?? StreakID(high: 0, low: 0)
        let date = parts.last.flatMap { CalendarDate($0) } ?? CalendarDate(dayNumber: 0)
        let key: Query = "(k.sequence, k.streak_id, k.on_date) > (\(after.sequence), \(streak), \(date))"
        return """
            SELECT h.id, k.streak_id, k.on_date, k.sequence FROM habit_skip k JOIN habit h ON h.streak_id = k.streak_id
            WHERE k.user_id = \(user) AND h.deleted_at IS NULL AND \(isNew("k.sequence", .skip, key))
            ORDER BY k.sequence, k.streak_id, k.on_date LIMIT \(limit)
            """
    }

    private var dayNotes: Query {
        let date = CalendarDate(after.key) ?? CalendarDate(dayNumber: 0)
        let key: Query = "(sequence, on_date) > (\(after.sequence), \(date))"
        return """
            SELECT on_date, note, sequence FROM habit_day_note
            WHERE user_id = \(user) AND \(isNew("sequence", .dayNote, key)) ORDER BY sequence, on_date LIMIT \(limit)
            """
    }

    private var deletions: Query {
        let (entity, text) = (parts.first.flatMap { Int32($0) } ?? 0, parts.last.map(String.init) ?? "")
        let key: Query = "(sequence, entity::int, key COLLATE \"C\") > (\(after.sequence), \(entity), \(text) COLLATE \"C\")"
        return """
            SELECT entity::int, key, sequence FROM habit_tombstone
            WHERE user_id = \(user) AND sequence > \(after.floor) AND \(isNew("sequence", .deletion, key))
            ORDER BY sequence, entity, key COLLATE "C" LIMIT \(limit)
            """
    }

    /// The entries after the position, in order; at most `limit` of each table.
    func entries(_ settings: HabitAccount, _ sql: Transaction) async throws -> [SyncEntry] {
        let rows = try await sql.query(
            together: HabitRepository.queries(of: user, isOnPage) + [categories, completions, skips, dayNotes, deletions]
        )
        var entries: [SyncEntry] = []
        let isNew =
            settings.settingsSequence > after.sequence
            || settings.settingsSequence == after.sequence && after.table.rawValue < SyncPosition.Table.settings.rawValue
        if isNew, settings.settingsSequence <= newest { entries.append(.settings(settings)) }
        entries += try HabitRepository.assemble(Array(rows[0..<3])).map { .habit($0) }
        entries += try rows[3].map { .category(try HabitCategoryRecord($0)) }
        entries += try rows[4].map {
            .completion(try CompletionRecord($0), of: try $0.get(at: CompletionRecord.columnCount))
        }
        entries += try rows[5].map {
            .skip(try $0.get(at: 0), streak: try $0.get(at: 1), try $0.get(at: 2), sequence: try $0.get(at: 3))
        }
        entries += try rows[6].map { .dayNote(try $0.get(at: 0), try $0.get(at: 1), sequence: try $0.get(at: 2)) }
        entries += try rows[7].compactMap { row in
            guard let entity = HabitEntity(rawValue: try row.get(at: 0)) else { return nil }
            return .deletion(entity, try row.get(at: 1), sequence: try row.get(at: 2))
        }
        // Those of one table are in their order; of habits the key is their id.
        return entries.enumerated().sorted { left, right in
            let (one, other) = (left.element.place, right.element.place)
            if one != other { return one < other }
            if case .habit(let a) = left.element, case .habit(let b) = right.element { return a.id < b.id }
            return left.offset < right.offset
        }.map(\.element)
    }

    /// Where each habit stands.
    struct Standing: Sendable {
        let habit: HabitID
        let count: Int32
        let unit: Schedule.Unit
        let longest: Int32
    }

    static func standings(of user: UserID, _ sql: some QueryExecutor) async throws -> [Standing] {
        try await sql.query(
            """
            SELECT h.id, s.current_count, h.counts, h.longest_dates, h.longest_weeks FROM habit h JOIN streak s ON s.id = h.streak_id
            WHERE h.user_id = \(user) AND h.deleted_at IS NULL ORDER BY h.position, h.id
            """
        ).map { row in
            let unit = Schedule.Unit(stored: try row.get(at: 2, as: Int32?.self)) ?? .dates
            return Standing(
                habit: try row.get(at: 0),
                count: try row.get(at: 1),
                unit: unit,
                longest: try row.get(at: unit == .dates ? 3 : 4)
            )
        }
    }
}
