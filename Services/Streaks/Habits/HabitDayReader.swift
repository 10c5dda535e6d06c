internal import Bus
internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// Reads the habits of a user on one date: what the Today screen, the widget and the reply of a completion show (HA-15).
struct HabitDayReader: Sendable {
    let habits: HabitStore

    /// Today, or an earlier date.
    ///
    /// When the rows are as of today already, everything is read at once; else they are brought there first.
    ///
    /// - Throws: `DATE_IN_FUTURE`.
    func day(
        _ date: CalendarDate?,
        of user: UserID,
        _ selection: DayRepository.Selection,
        _ context: CallContext
    ) async throws -> HabitScreenDay {
        let around = date ?? Zone.utc.date(at: habits.work.now())
        let rows = try await habits.database.lookup(
            DayRepository.screen(of: user, date.map { .on($0) } ?? .newest, around: around, selection)
        )
        // Without a row, or before anything is known of the user, it takes the longer way.
        if let first = rows.first, let zones = try DayRepository.clock(first) {
            let clock = HabitDate(zones, at: habits.work.now())
            let shown = try rows.map(DayRepository.habit)
            if shown.allSatisfy({ $0.asOf == clock.today }) {
                let notes = try DayRepository.notes(first)
                return try await finished(shown, date ?? clock.today, notes, clock, of: user, selection)
            }
        }
        let clock = try await habits.refresh(user, context)
        let again = try await habits.database.lookup(together: [
            DayRepository.query(of: user, .on(date ?? clock.today), selection),
            DayRepository.notes(of: user, around: date ?? clock.today),
        ])
        let shown = try again[0].map(DayRepository.habit)
        let notes = try again[1].map { (try $0.get(at: 0, as: CalendarDate.self), try $0.get(at: 1, as: String.self)) }
        let noted = Dictionary(notes) { first, _ in first }
        return try await finished(shown, date ?? clock.today, noted, clock, of: user, selection)
    }

    private func finished(
        _ rows: [DayRepository.HabitRow],
        _ date: CalendarDate,
        _ notes: [CalendarDate: String],
        _ clock: HabitDate,
        of user: UserID,
        _ selection: DayRepository.Selection
    ) async throws -> HabitScreenDay {
        guard date <= clock.today else { throw ServiceError.dateInFuture }
        var day = HabitScreenDay(date: date, clock: clock, rows: rows, note: notes[date])
        guard day.needsHistory else { return day }
        let queries = DayRepository.historyQueries(of: user, selection, in: HabitScreenDay.around(date))
        day.histories = try DayRepository.histories(try await habits.database.lookup(together: queries))
        return day
    }

    /// The same inside a change, after it has been written.
    static func day(
        _ date: CalendarDate,
        _ book: HabitBook,
        _ selection: DayRepository.Selection = .init()
    ) async throws -> HabitScreenDay {
        var rows = try await book.work.sql.query(DayRepository.query(of: book.user, .on(date), selection)).map(
            DayRepository.habit
        )
        if !rows.allSatisfy({ $0.asOf == book.date.today || $0.isArchived }) {
            try await book.refresh()
            rows = try await book.work.sql.query(DayRepository.query(of: book.user, .on(date), selection)).map(
                DayRepository.habit
            )
        }
        var day = HabitScreenDay(date: date, clock: book.date, rows: rows, note: nil)
        guard day.needsHistory else { return day }
        let dates = HabitScreenDay.around(date)
        day.histories = try DayRepository.histories(
            try await book.work.sql.query(together: DayRepository.historyQueries(of: book.user, selection, in: dates))
        )
        return day
    }
}

/// The habits of a user on a date.
struct HabitScreenDay: Sendable {
    let date: CalendarDate
    let clock: HabitDate
    /// All that are not in the archive, in their order.
    let rows: [DayRepository.HabitRow]
    let note: String?
    /// Of weekly habits on dates of the past.
    var histories: [StreakID: DayRepository.History] = [:]

    /// A habit that the date knows.
    struct Shown: Sendable {
        let row: DayRepository.HabitRow
        var habit: HabitOfToday
    }

    /// Weeks of the past are made from their dates; the present one is stored.
    var needsHistory: Bool { date < clock.today && rows.contains { $0.schedule.unit == .weeks } }

    /// The dates that can be in one week with a date.
    static func around(_ date: CalendarDate) -> ClosedRange<CalendarDate> { date.advanced(by: -6)...date.advanced(by: 6) }

    /// Those that had begun on the date.
    var shown: [Shown] {
        rows.compactMap { row in
            row.day.map { Shown(row: row, habit: HabitOfToday(day: $0, week: week(of: row), reminderHour: row.reminderHour)) }
        }
    }

    var summary: HabitDaySummary { HabitDaySummary(shown.filter { !$0.row.isArchived }.map(\.habit)) }

    var averageStreak: Int { StreaksDomain.averageStreak(rows.map { (count: $0.count, unit: $0.counts) }) }

    /// The habits as they were on an earlier date of the same week or the one before, from their histories.
    func habits(on date: CalendarDate, _ histories: [StreakID: DayRepository.History]) -> [HabitOfToday] {
        rows.compactMap { row in
            guard let history = histories[row.streak], let day = history.days[date] else { return nil }
            let week = history.week(on: date, today: clock.today)
            return HabitOfToday(day: day, week: week, reminderHour: row.reminderHour)
        }
    }

    /// How the week of a weekly habit stood on the date.
    ///
    /// - Parameter earlier: what dates were instead of what they are now.
    func week(of row: DayRepository.HabitRow, with earlier: [CalendarDate: HabitDay] = [:]) -> HabitWeek? {
        guard row.schedule.unit == .weeks else { return nil }
        guard var history = histories[row.streak] else { return date == clock.today ? row.week : nil }
        history.days.merge(earlier) { $1 }
        return history.week(on: date, today: clock.today)
    }
}

extension DayRepository.History {
    /// The week of a weekly habit as it stood on a date; nil when dates are counted on it.
    func week(on date: CalendarDate, today: CalendarDate) -> HabitWeek? {
        guard let start else { return nil }
        return HabitWeek.on(
            date,
            versions,
            since: start,
            days.filter { $0.key <= today }.mapValues(\.status),
            isPaused: { day in pauses.contains { $0.contains(day) } }
        )
    }
}

extension DayRepository.HabitRow {
    var reminderHour: Int? { reminderMinute.map { $0 / 60 } }
}

extension ServiceError {
    static let dateInFuture = ServiceError(.invalidArgument, "DATE_IN_FUTURE", "This date has not begun.")
    static let habitArchived = ServiceError(.failedPrecondition, "HABIT_ARCHIVED", "This habit is in the archive.")
}
