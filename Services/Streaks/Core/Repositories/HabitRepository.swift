package import Database
package import Kernel
internal import StreaksDomain

/// The definitions of habits.
package enum HabitRepository {
    // MARK: reading

    /// Habits of a user that meet a condition on `habit` h, in their order; deleted ones only when it asks for them.
    package static func records(
        of user: UserID,
        where condition: Query = "h.deleted_at IS NULL",
        _ sql: some QueryExecutor
    ) async throws -> [HabitRecord] {
        try assemble(try await sql.query(together: queries(of: user, condition)))
    }

    /// The statements of `records`, for who reads more at the same time; `assemble` makes the records of their rows.
    package static func queries(of user: UserID, _ condition: Query) -> [Query] {
        [
            """
            SELECT \(HabitRecord.columns) FROM habit h JOIN streak s ON s.id = h.streak_id
            WHERE h.user_id = \(user) AND (\(condition)) ORDER BY h.position, h.id
            """,
            """
            SELECT v.streak_id, v.from_date, v.schedule, v.numbers, v.anchor, v.target, v.week_start
            FROM habit h JOIN habit_version v ON v.streak_id = h.streak_id
            WHERE h.user_id = \(user) AND (\(condition)) ORDER BY v.streak_id, v.from_date
            """,
            """
            SELECT p.streak_id, p.paused_at, p.from_date, p.until_date FROM habit h JOIN streak_pause p ON p.streak_id = h.streak_id
            WHERE h.user_id = \(user) AND (\(condition)) AND p.from_date < p.until_date ORDER BY p.streak_id, p.from_date
            """,
        ]
    }

    /// One habit that is not deleted, without its versions and pauses.
    static func details(of id: HabitID, _ user: UserID) -> Query {
        """
        SELECT \(HabitRecord.columns) FROM habit h JOIN streak s ON s.id = h.streak_id
        WHERE h.user_id = \(user) AND h.id = \(id) AND h.deleted_at IS NULL
        """
    }

    /// - Parameter rows: of `queries`, in their order.
    package static func assemble(_ rows: [[Row]]) throws -> [HabitRecord] {
        var versions: [StreakID: [HabitEntries.Version]] = [:]
        for row in rows[1] {
            versions[try row.get(at: 0), default: []].append(
                HabitEntries.Version(
                    from: try row.get(at: 1),
                    schedule: try Schedule(
                        stored: try row.get(at: 2),
                        numbers: try row.get(at: 3, as: [Int32].self).map(Int.init),
                        anchor: try row.get(at: 4, as: CalendarDate?.self)
                    ),
                    target: try row.get(at: 5, as: Int64?.self).map(Amount.init(thousandths:)),
                    weekStart: Int(try row.get(at: 6, as: Int32.self))
                )
            )
        }
        var pauses: [StreakID: [StreakLedger.Pause]] = [:]
        for row in rows[2] {
            pauses[try row.get(at: 0), default: []].append(
                StreakLedger.Pause(at: try row.get(at: 1), from: try row.get(at: 2), until: try row.get(at: 3))
            )
        }
        return try rows[0].map { row in
            var record = try HabitRecord(row)
            guard let known = versions[record.streak], !known.isEmpty else { throw ServiceError.internal }
            record.versions = known
            record.pauses = pauses[record.streak] ?? []
            return record
        }
    }

    /// Whose habit a streak is.
    struct Name: Sendable {
        let user: UserID
        let id: HabitID
        let name: String
    }

    static func names(of streaks: [StreakID], _ sql: some QueryExecutor) async throws -> [StreakID: Name] {
        let rows = try await sql.query("SELECT streak_id, user_id, id, name FROM habit WHERE streak_id = ANY(\(streaks))")
        return Dictionary(
            try rows.map { row in
                (try row.get(at: 0), Name(user: try row.get(at: 1), id: try row.get(at: 2), name: try row.get(at: 3)))
            }
        ) { first, _ in first }
    }

    /// A milestone that a habit has reached.
    struct Milestone: Sendable {
        let streak: StreakID
        let count: Int
        let unit: Schedule.Unit
        let date: CalendarDate
    }

    /// The streaks of habits of a user whose rows are not as of `today`. Those in the archive and deleted ones stay as they were.
    static func outdated(of user: UserID, today: CalendarDate, _ sql: some QueryExecutor) async throws -> [StreakID] {
        try await sql.query(
            """
            SELECT h.streak_id FROM habit h JOIN streak s ON s.id = h.streak_id
            WHERE h.user_id = \(user) AND h.deleted_at IS NULL AND (h.as_of = \(HabitDays.stale)
                OR h.archived_at IS NULL AND h.as_of <> \(today) AND s.ended_at IS NULL)
            """
        ).map { try $0.get(at: 0) }
    }

    static func staleStreaks(among streaks: [StreakID], _ sql: some QueryExecutor) async throws -> Set<StreakID> {
        Set(
            try await sql.query(
                "SELECT streak_id FROM habit WHERE streak_id = ANY(\(streaks)) AND as_of = \(HabitDays.stale)"
            ).map { try $0.get(at: 0) }
        )
    }

    // MARK: writing

    /// A new habit at the end of the list.
    ///
    /// - Throws: `DatabaseError` unique violation `habit_name` when the user has one of this name, `habit_pkey` when one of this id.
    static func insert(
        _ id: HabitID,
        _ details: HabitDetails,
        streak: StreakID,
        asOf: CalendarDate,
        _ change: HabitStamp,
        _ sql: Transaction
    )
        async throws
    {
        let reminder = details.reminder
        _ = try await sql.execute(
            """
            INSERT INTO habit (user_id, id, streak_id, name, name_key, description, color, icon, category_id, unit, reminder_minute,
                reminder_days, position, created_at, updated_at, as_of, sequence)
            SELECT \(change.user), \(id), \(streak), \(details.name), normalize(\(HabitText.key(details.name)), NFC),
                \(details.description), \(details.color), \(details.icon), \(details.category), \(details.unit),
                \(reminder.map { Int32($0.minute) }), \(reminder?.days.map { $0.sorted().map(Int32.init) }),
                1 + coalesce((SELECT max(position) FROM habit WHERE user_id = \(change.user)), 0), \(change.createdAt), \(change.now),
                \(asOf), \(change.sequence)
            """
        )
    }

    /// - Throws: `DatabaseError` unique violation `habit_name`.
    static func update(_ id: HabitID, _ details: HabitDetails, _ change: HabitStamp, _ sql: Transaction) async throws {
        let reminder = details.reminder
        _ = try await sql.execute(
            """
            UPDATE habit SET name = \(details.name), name_key = normalize(\(HabitText.key(details.name)), NFC),
                description = \(details.description), color = \(details.color), icon = \(details.icon),
                category_id = \(details.category), unit = \(details.unit),
                reminder_minute = \(reminder.map { Int32($0.minute) }),
                reminder_days = \(reminder?.days.map { $0.sorted().map(Int32.init) }),
                updated_at = \(change.now), sequence = \(change.sequence)
            WHERE user_id = \(change.user) AND id = \(id)
            """
        )
    }

    /// Something of it has changed that lies in other tables: schedule, pause.
    static func touch(_ id: HabitID, _ change: HabitStamp, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            UPDATE habit SET updated_at = \(change.now), sequence = \(change.sequence)
            WHERE user_id = \(change.user) AND id = \(id)
            """
        )
    }

    static func setArchived(_ id: HabitID, at instant: Instant?, _ change: HabitStamp, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            UPDATE habit SET archived_at = \(instant), updated_at = \(change.now), sequence = \(change.sequence)
            WHERE user_id = \(change.user) AND id = \(id)
            """
        )
    }

    /// How often its reminder was put off on a date. Devices need not know.
    package static func setSnoozes(_ count: Int, on date: CalendarDate?, of streak: StreakID, _ sql: Transaction) throws {
        try sql.enqueue(
            "UPDATE habit SET snooze_date = \(date), snoozes = \(Int16(clamping: count)) WHERE streak_id = \(streak)"
        )
    }

    /// - Throws: `DatabaseError` unique violation `habit_name` when it comes back and another has its name.
    static func setDeleted(_ id: HabitID, at instant: Instant?, _ change: HabitStamp, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE habit SET deleted_at = \(instant), updated_at = \(change.now), sequence = \(change.sequence)
            WHERE user_id = \(change.user) AND id = \(id)
            """
        )
    }

    /// The order of the list: those that are named, in this order, before all others.
    static func reorder(_ ids: [HabitID], _ change: HabitStamp, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE habit SET position = new.place, updated_at = \(change.now), sequence = \(change.sequence)
            FROM (SELECT id, row_number() OVER (ORDER BY wanted.place NULLS LAST, h.position, h.id) AS place
                  FROM habit h LEFT JOIN unnest(\(ids)) WITH ORDINALITY AS wanted (id, place) USING (id)
                  WHERE h.user_id = \(change.user) AND h.deleted_at IS NULL) AS new
            WHERE habit.user_id = \(change.user) AND habit.id = new.id AND habit.position <> new.place
            """
        )
    }

    /// The streaks of habits that were deleted before `instant`, at most so many; locked.
    package static func lockDeleted(before instant: Instant, limit: Int, _ sql: Transaction) async throws -> [StreakID] {
        try await sql.query(
            """
            SELECT streak_id FROM habit WHERE deleted_at < \(instant) ORDER BY deleted_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            """
        ).map { try $0.get(at: 0) }
    }

    /// Deletes habits for good, with everything that hangs on their streaks.
    package static func purge(_ streaks: [StreakID], _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM streak WHERE id = ANY(\(streaks)) AND kind = \(StreakKind.habit.rawValue)")
    }
}

/// Whose change it is, its number and its instant.
package struct HabitStamp: Sendable {
    package let user: UserID
    package let sequence: Int64
    package let now: Instant
    /// What a restored row says of its creation; else `now`.
    package var createdAt: Instant

    package init(user: UserID, sequence: Int64, now: Instant) {
        (self.user, self.sequence, self.now, createdAt) = (user, sequence, now, now)
    }
}
