package import Database
internal import Kernel
package import StreaksDomain

/// What became of the dates of habits, and their runs, as the fold says: rows for lists and statistics.
enum HabitDays {
    /// `habit.as_of` of habits whose rows must be made again from the start: their user's clock has changed its past.
    static let stale = CalendarDate(dayNumber: -100_000)

    /// How a fold changed what is stored of one habit.
    struct Change: Sendable {
        let streak: StreakID
        var days: [(date: CalendarDate, day: HabitDay)] = []
        var deletedDays: [CalendarDate] = []
        var runs: [HabitRun] = []
        var deletedRuns: [CalendarDate] = []
        let state: HabitState
        /// Everything is made again.
        var isWhole = false

        /// The difference of two folds of one ledger; `before` is what is stored.
        init(_ streak: StreakID, from before: HabitState?, to after: HabitState) {
            (self.streak, state) = (streak, after)
            let old = before?.days ?? [:]
            for (date, day) in after.days where old[date] != day { days.append((date, day)) }
            deletedDays = old.keys.filter { after.days[$0] == nil }
            let known = Dictionary((before?.runs ?? []).map { ($0.from, $0) }) { first, _ in first }
            runs = after.runs.filter { known[$0.from] != $0 }
            let kept = Set(after.runs.map(\.from))
            deletedRuns = known.keys.filter { !kept.contains($0) }
        }

        /// A fold from the start, which replaces whatever is stored.
        init(whole state: HabitState, of streak: StreakID) {
            self.init(streak, from: nil, to: state)
            isWhole = true
        }
    }

    static func store(_ changes: [Change], _ sql: Transaction) throws {
        guard !changes.isEmpty else { return }
        try clear(changes, sql)
        try storeDays(changes, sql)
        try storeRuns(changes, sql)
        try storeStates(changes, sql)
    }

    private static func clear(_ changes: [Change], _ sql: Transaction) throws {
        let whole = changes.filter(\.isWhole).map(\.streak)
        if !whole.isEmpty {
            try sql.enqueue("DELETE FROM habit_day WHERE streak_id = ANY(\(whole))")
            try sql.enqueue("DELETE FROM habit_run WHERE streak_id = ANY(\(whole))")
        }
        let days = changes.flatMap { change in change.deletedDays.map { (change.streak, $0) } }
        if !days.isEmpty {
            try sql.enqueue(
                """
                DELETE FROM habit_day USING unnest(\(days.map(\.0)), \(days.map(\.1))) AS gone (streak_id, on_date)
                WHERE habit_day.streak_id = gone.streak_id AND habit_day.on_date = gone.on_date
                """
            )
        }
        let runs = changes.flatMap { change in change.deletedRuns.map { (change.streak, $0) } }
        if !runs.isEmpty {
            try sql.enqueue(
                """
                DELETE FROM habit_run USING unnest(\(runs.map(\.0)), \(runs.map(\.1))) AS gone (streak_id, from_date)
                WHERE habit_run.streak_id = gone.streak_id AND habit_run.from_date = gone.from_date
                """
            )
        }
    }

    private static func storeDays(_ changes: [Change], _ sql: Transaction) throws {
        let days = changes.flatMap { change in change.days.map { (change.streak, $0.date, $0.day) } }
        guard !days.isEmpty else { return }
        try sql.enqueue(
            """
            INSERT INTO habit_day (streak_id, on_date, status, value, completions, target, is_open, outcome, due_dates, broke_run)
            SELECT streak_id, on_date, status, value, completions, target, is_open, outcome, due_dates, broke_run
            FROM \(rows: .of(days.map(\.0)), .of(days.map(\.1)), .of(days.map(\.2.status.rawValue)),
                .of(days.map(\.2.value.thousandths)), .of(days.map { Int32(clamping: $0.2.completions) }),
                .of(days.map(\.2.target?.thousandths)), .of(days.map(\.2.isOpen)), .of(days.map(\.2.outcome?.rawValue)),
                .of(days.map { Int32(clamping: $0.2.dueDates) }), .of(days.map(\.2.brokeRun)))
                AS new (streak_id, on_date, status, value, completions, target, is_open, outcome, due_dates, broke_run)
            ON CONFLICT (streak_id, on_date) DO UPDATE SET status = EXCLUDED.status, value = EXCLUDED.value,
                completions = EXCLUDED.completions, target = EXCLUDED.target, is_open = EXCLUDED.is_open,
                outcome = EXCLUDED.outcome, due_dates = EXCLUDED.due_dates, broke_run = EXCLUDED.broke_run
            """
        )
    }

    private static func storeRuns(_ changes: [Change], _ sql: Transaction) throws {
        let runs = changes.flatMap { change in change.runs.map { (change.streak, $0) } }
        guard !runs.isEmpty else { return }
        try sql.enqueue(
            """
            INSERT INTO habit_run (streak_id, from_date, through_date, count, counts, ended, ended_on)
            SELECT streak_id, from_date, through_date, count, counts, ended, ended_on
            FROM \(rows: .of(runs.map(\.0)), .of(runs.map(\.1.from)), .of(runs.map(\.1.through)),
                .of(runs.map { Int32(clamping: $0.1.count) }), .of(runs.map(\.1.unit.stored)),
                .of(runs.map { $0.1.end?.stored.kind }), .of(runs.map { $0.1.end?.stored.date }))
                AS new (streak_id, from_date, through_date, count, counts, ended, ended_on)
            ON CONFLICT (streak_id, from_date) DO UPDATE SET through_date = EXCLUDED.through_date, count = EXCLUDED.count,
                counts = EXCLUDED.counts, ended = EXCLUDED.ended, ended_on = EXCLUDED.ended_on
            """
        )
    }

    private static func storeStates(_ changes: [Change], _ sql: Transaction) throws {
        let states = changes.map(\.state)
        let weeks = states.map(\.week)
        func numbers(_ number: (HabitWeek) -> Int) -> [Int32?] { weeks.map { $0.map { Int32(clamping: number($0)) } } }
        try sql.enqueue(
            """
            UPDATE habit SET as_of = CASE WHEN habit.as_of = \(stale) AND NOT new.is_whole THEN habit.as_of ELSE new.as_of END,
                counts = new.counts, longest_dates = new.longest_dates, longest_weeks = new.longest_weeks,
                week_first = new.week_first, week_last = new.week_last, week_done = new.week_done,
                week_excused = new.week_excused, week_needed = new.week_needed, week_left = new.week_left,
                week_is_cut = new.week_is_cut
            FROM \(rows: .of(changes.map(\.streak)), .of(changes.map(\.isWhole)), .of(states.map(\.today)),
                .of(states.map(\.unit.stored)), .of(states.map { Int32(clamping: $0.longestDates) }),
                .of(states.map { Int32(clamping: $0.longestWeeks) }), .of(weeks.map { $0?.dates.lowerBound }),
                .of(weeks.map { $0?.dates.upperBound }), .of(numbers(\.done)), .of(numbers(\.excused)), .of(numbers(\.needed)),
                .of(numbers(\.left)), .of(weeks.map { $0?.isCut }))
                AS new (streak_id, is_whole, as_of, counts, longest_dates, longest_weeks, week_first, week_last, week_done,
                    week_excused, week_needed, week_left, week_is_cut)
            WHERE habit.streak_id = new.streak_id
            """
        )
    }

    /// The rows of these habits must be made again that reach to an outage: it excuses dates of them (SD-7).
    ///
    /// - Parameters:
    ///   - first: streaks with later ids; nil: from the first one.
    ///   - last: and with ids up to this; nil: all.
    ///   - instant: the beginning of the outage.
    static func setStale(after first: StreakID?, through last: StreakID?, since instant: Instant, _ sql: Transaction) throws {
        let from = first.map { "streak_id > \($0)" as Query } ?? "true"
        let through = last.map { "streak_id <= \($0)" as Query } ?? "true"
        // Some zone's clock may show the date before.
        let date = Zone.utc.date(at: instant).advanced(by: -1)
        try sql.enqueue("UPDATE habit SET as_of = \(stale) WHERE \(from) AND \(through) AND as_of >= \(date)")
    }

    /// The rows of a user's habits must be made again: which dates their clock has shown is another now (SD-3).
    static func setStale(of user: UserID, _ sql: Transaction) throws {
        try sql.enqueue("UPDATE habit SET as_of = \(stale) WHERE user_id = \(user)")
    }
}

extension HabitRun.End {
    /// The values in `habit_run.ended` and `habit_run.ended_on`.
    var stored: (kind: Int32, date: CalendarDate) {
        switch self {
        case .missed(let date): (1, date)
        case .scheduleChanged(let date): (2, date)
        }
    }

    init?(stored kind: Int32?, _ date: CalendarDate?) {
        switch (kind, date) {
        case (1, let date?): self = .missed(date)
        case (2, let date?): self = .scheduleChanged(date)
        default: return nil
        }
    }
}

extension HabitRun {
    /// In the order `init` reads them, of `habit_run`.
    package static let columns: Query = "from_date, through_date, count, counts, ended, ended_on"

    /// - Parameter first: the column at which `columns` begin.
    package init(_ row: Row, at first: Int = 0) throws {
        self.init(
            from: try row.get(at: first),
            through: try row.get(at: first + 1),
            count: Int(try row.get(at: first + 2, as: Int32.self)),
            unit: Schedule.Unit(stored: try row.get(at: first + 3)) ?? .dates,
            end: End(stored: try row.get(at: first + 4), try row.get(at: first + 5))
        )
    }
}

extension HabitDay {
    /// In the order `init` reads them.
    package static let columns: Query = "status, value, completions, target, is_open, outcome, due_dates, broke_run"
    package static let columnCount = 8

    /// - Parameter first: the column at which `columns` begin.
    package init(_ row: Row, at first: Int) throws {
        guard let status = Status(rawValue: try row.get(at: first)) else { throw ServiceError.internal }
        self.init(
            status: status,
            value: Amount(thousandths: try row.get(at: first + 1)),
            completions: Int(try row.get(at: first + 2, as: Int32.self)),
            target: try row.get(at: first + 3, as: Int64?.self).map(Amount.init(thousandths:)),
            isOpen: try row.get(at: first + 4),
            outcome: try row.get(at: first + 5, as: Int32?.self).flatMap(Outcome.init(rawValue:)),
            dueDates: Int(try row.get(at: first + 6, as: Int32.self)),
            brokeRun: try row.get(at: first + 7)
        )
    }
}
