internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// What was said of each habit (HA-5).
enum HabitReminderRepository {
    /// A date that was done or skipped while its reminder waited.
    struct Answered: Hashable, Sendable {
        let date: CalendarDate
        let answer: ReminderAnswer
    }

    /// How far the reminders of a habit are.
    struct Progress: Hashable, Sendable {
        var since: Instant
        var handled: HabitReminder.Handled?
        var awaitingDate: CalendarDate?
        /// What was done or skipped in the app while a reminder waited, until it is emitted.
        var answered: Answered?
        var snoozeDate: CalendarDate?
        var snoozes: Int
        var snoozeAt: Instant?

        /// - Parameter known: nil: nothing was said.
        init(_ known: Progress?) {
            self = known ?? Progress(since: .epoch)
        }

        private init(since: Instant) { (self.since, snoozes) = (since, 0) }

        /// - Parameter first: the column at which `columns` begin.
        fileprivate init(_ row: Row, at first: Int) throws {
            self.init(since: try row.get(at: first))
            if let date = try row.get(at: first + 1, as: CalendarDate?.self),
                let minute = try row.get(at: first + 2, as: Int32?.self)
            {
                handled = HabitReminder.Handled(date: date, minute: Int(minute))
            }
            awaitingDate = try row.get(at: first + 3)
            if let date = try row.get(at: first + 4, as: CalendarDate?.self),
                let answer = try row.get(at: first + 5, as: Int32?.self)
            {
                answered = Answered(date: date, answer: ReminderAnswer(rawValue: answer))
            }
            snoozeDate = try row.get(at: first + 6)
            snoozes = Int(try row.get(at: first + 7, as: Int16.self))
            snoozeAt = try row.get(at: first + 8)
        }

        func snoozeCount(on date: CalendarDate) -> Int { snoozeDate == date ? snoozes : 0 }

        /// As rules take it.
        func reminder(_ time: HabitReminderTime) -> HabitReminder {
            HabitReminder(
                time,
                since: since,
                handled: handled,
                snoozes: snoozeDate.map { HabitReminder.Snoozes(date: $0, count: snoozes, at: snoozeAt) }
            )
        }

        mutating func snoozes(_ new: HabitReminder.Snoozes?) {
            (snoozeDate, snoozes, snoozeAt) = (new?.date, new?.count ?? 0, new?.at)
        }
    }

    /// A habit of a user who is due, neither in the archive nor deleted; its reminder is locked.
    struct DueHabit: Sendable {
        let user: UserID
        let id: HabitID
        let streak: StreakID
        let name: String
        let icon: String
        let position: Int32
        /// nil: it reminds of nothing but in the evening.
        let time: HabitReminderTime?
        var progress: Progress
    }

    private static let columns: Query = """
        r.since, r.handled_date, r.handled_minute, r.awaiting_date, r.answered_date, r.answer, h.snooze_date, h.snoozes,
        r.snooze_at
        """

    /// All of these users, in the order of their streaks, so that no two transactions wait for each other.
    static func lockHabits(of users: [UserID], _ sql: Transaction) async throws -> [DueHabit] {
        try await sql.query(
            """
            SELECT h.user_id, h.id, h.streak_id, h.name, h.icon, h.position, h.reminder_minute, h.reminder_days, \(columns)
            FROM habit_reminder r JOIN habit h ON h.streak_id = r.streak_id JOIN streak s ON s.id = r.streak_id
            WHERE r.user_id = ANY(\(users)) AND h.archived_at IS NULL AND h.deleted_at IS NULL AND s.ended_at IS NULL
            ORDER BY r.streak_id FOR UPDATE OF r
            """
        ).map { row in
            let days = try row.get(at: 7, as: [Int32]?.self).map { Set($0.map(Int.init)) }
            return DueHabit(
                user: try row.get(at: 0),
                id: try row.get(at: 1),
                streak: try row.get(at: 2),
                name: try row.get(at: 3),
                icon: try row.get(at: 4),
                position: try row.get(at: 5),
                time: try row.get(at: 6, as: Int32?.self).map { HabitReminderTime(storedMinute: Int($0), days: days) },
                progress: try Progress(row, at: 8)
            )
        }
    }

    /// That of one habit, locked; nil when there is none. Lock the user's schedule before.
    static func lock(_ streak: StreakID, _ sql: Transaction) async throws -> Progress? {
        try await sql.query(
            """
            SELECT \(columns) FROM habit_reminder r JOIN habit h ON h.streak_id = r.streak_id WHERE r.streak_id = \(streak)
            FOR UPDATE OF r
            """
        ).first.map { try Progress($0, at: 0) }
    }

    /// Stores how far reminders are; they are locked. How often one was snoozed is `HabitRepository.setSnoozes`.
    static func store(_ reminders: [(streak: StreakID, progress: Progress)], _ sql: Transaction) async throws {
        guard !reminders.isEmpty else { return }
        let progress = reminders.map(\.progress)
        _ = try await sql.execute(
            """
            UPDATE habit_reminder SET handled_date = new.handled_date, handled_minute = new.handled_minute, awaiting_date = new.awaiting,
                answered_date = new.answered, answer = new.answer, snooze_at = new.snooze_at
            FROM unnest(\(reminders.map(\.streak)), \(progress.map(\.handled?.date)),
                \(progress.map { $0.handled.map { Int32(clamping: $0.minute) } }), \(progress.map(\.awaitingDate)),
                \(progress.map(\.answered?.date)), \(progress.map(\.answered?.answer.rawValue)), \(progress.map(\.snoozeAt)))
                AS new (id, handled_date, handled_minute, awaiting, answered, answer, snooze_at)
            WHERE streak_id = new.id
            """
        )
    }

    /// A date of a habit that was done or skipped.
    struct Settled: Sendable {
        let streak: StreakID
        let date: CalendarDate
        let answer: ReminderAnswer
    }

    /// Notes what settles reminders that wait for an answer. Sent with the next statement or the commit.
    static func note(_ settled: [Settled], _ sql: Transaction) throws {
        try sql.enqueue(
            """
            WITH found AS (
                SELECT r.streak_id, done.on_date, done.answer FROM habit_reminder r
                JOIN unnest(\(settled.map(\.streak)), \(settled.map(\.date)), \(settled.map(\.answer.rawValue)))
                    AS done (streak_id, on_date, answer) ON r.streak_id = done.streak_id AND r.awaiting_date = done.on_date
                ORDER BY r.streak_id FOR UPDATE OF r)
            UPDATE habit_reminder r SET awaiting_date = NULL, answered_date = found.on_date, answer = found.answer
            FROM found WHERE r.streak_id = found.streak_id
            """
        )
    }
}
