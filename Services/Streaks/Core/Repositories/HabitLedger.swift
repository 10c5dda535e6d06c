internal import Database
package import Kernel
package import StreaksDomain

/// What the ledgers of habits have besides those of other kinds (HA-8 … HA-14).
enum HabitLedger {
    /// What was read of one habit.
    struct Entries: Sendable {
        var habit: HabitEntries
        var completions: [StreakLedger.Contribution]
    }

    /// The tables of it, as the second column of `query` names them.
    private enum Table: Int32 {
        case habit = 1
        case version = 2
        case skip = 3
        case archiving = 4
        case milestone = 5
        case completion = 6
    }

    /// Everything of these streaks, by one statement: completions and skips from the checkpoints on.
    ///
    /// - Parameter starts: the dates of the checkpoints, in the order of `ids`.
    static func query(of ids: [StreakID], after starts: [CalendarDate]) -> Query {
        query(
            base: "SELECT * FROM unnest(\(ids), \(starts)) AS base (id, settled_through)",
            of: "streak_id = ANY(\(ids))",
            since: "JOIN base ON streak_id = base.id AND on_date > base.settled_through"
        )
    }

    /// The same of one habit.
    ///
    /// - Parameter streak: a statement that selects its `streak_id`.
    static func query(of streak: Query) -> Query {
        query(
            base: """
                SELECT mine.streak_id AS id, coalesce(c.settled_through, \(LedgerRepository.beforeEverything)) AS settled_through
                FROM (\(streak)) AS mine LEFT JOIN streak_checkpoint c ON c.streak_id = mine.streak_id
                """,
            of: "streak_id = (SELECT id FROM base)",
            since: "WHERE streak_id = (SELECT id FROM base) AND on_date > (SELECT settled_through FROM base)"
        )
    }

    private static func query(base: Query, of streaks: Query, since: Query) -> Query {
        """
        WITH base AS (\(base))
        SELECT streak_id, 1, starts_on, NULL::date, NULL::int, NULL::int[], NULL::bigint, NULL::uuid, user_id, NULL::timestamptz,
            NULL::timestamptz
        FROM habit WHERE \(streaks)
        UNION ALL SELECT streak_id, 2, from_date, anchor, schedule, numbers || week_start::int, target, NULL, NULL, NULL, NULL
        FROM habit_version WHERE \(streaks)
        UNION ALL SELECT streak_id, 3, on_date, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM habit_skip \(since)
        UNION ALL SELECT streak_id, 4, from_date, until_date, place, NULL, NULL, NULL, NULL, NULL, NULL
        FROM habit_archiving WHERE \(streaks)
        UNION ALL SELECT streak_id, 5, on_date, NULL, count, ARRAY[counts::int], place::bigint, NULL, NULL, NULL, NULL
        FROM habit_milestone WHERE \(streaks)
        UNION ALL SELECT streak_id, 6, on_date, NULL, NULL, NULL, amount, habit_completion.id, user_id, received_at, recorded_at
        FROM habit_completion \(since)
        """
    }

    /// - Parameter rows: of `query`.
    static func entries(_ rows: [Row]) throws -> [StreakID: Entries] {
        var found: [StreakID: Reading] = [:]
        for row in rows { try found[try row.get(at: 0), default: Reading()].add(row) }
        return try found.mapValues { try $0.entries() }
    }

    /// One habit while its rows are read.
    private struct Reading {
        var startsOn: CalendarDate?
        var versions: [HabitEntries.Version] = []
        var skips: Set<CalendarDate> = []
        var archivings: [(place: Int32, archiving: HabitEntries.Archiving)] = []
        var reported: [(place: Int64, reported: HabitEntries.Reported)] = []
        var completions: [StreakLedger.Contribution] = []

        mutating func add(_ row: Row) throws {
            let date = try row.get(at: 2, as: CalendarDate?.self)
            guard let table = Table(rawValue: try row.get(at: 1)) else { throw ServiceError.internal }
            if table == .habit {
                startsOn = date
                return
            }
            guard let date else { throw ServiceError.internal }
            switch table {
            case .habit: break
            case .version: versions.append(try HabitLedger.version(row, from: date))
            case .skip: skips.insert(date)
            case .archiving:
                let until = try row.get(at: 3, as: CalendarDate?.self)
                archivings.append((try row.get(at: 4), HabitEntries.Archiving(from: date, until: until)))
            case .milestone:
                guard let unit = Schedule.Unit(stored: try row.get(at: 5, as: [Int32].self).first) else {
                    throw ServiceError.internal
                }
                let count = Int(try row.get(at: 4, as: Int32.self))
                reported.append((try row.get(at: 6), HabitEntries.Reported(count: count, unit: unit, date: date)))
            case .completion:
                completions.append(
                    StreakLedger.Contribution(
                        user: try row.get(at: 8),
                        date: date,
                        receivedAt: try row.get(at: 9),
                        recordedAt: try row.get(at: 10),
                        id: try row.get(at: 7, as: CompletionID.self),
                        amount: try row.get(at: 6, as: Int64?.self).map(Amount.init(thousandths:))
                    )
                )
            }
        }

        func entries() throws -> Entries {
            let versions = versions.sorted { $0.from < $1.from }
            guard let first = versions.first else { throw ServiceError.internal }
            return Entries(
                habit: HabitEntries(
                    first,
                    later: Array(versions.dropFirst()),
                    skips: skips,
                    archivings: archivings.sorted { $0.place < $1.place }.map(\.archiving),
                    reported: reported.sorted { $0.place < $1.place }.map(\.reported),
                    startsOn: startsOn
                ),
                // In the order they came, which decides what a later one is merged into.
                completions: completions.sorted { left, right in
                    if left.receivedAt != right.receivedAt { return left.receivedAt < right.receivedAt }
                    guard let one = left.id, let other = right.id else { return false }
                    return one < other
                }
            )
        }
    }

    private static func version(_ row: Row, from date: CalendarDate) throws -> HabitEntries.Version {
        var numbers = try row.get(at: 5, as: [Int32].self).map(Int.init)
        guard let weekStart = numbers.popLast() else { throw ServiceError.internal }
        return HabitEntries.Version(
            from: date,
            schedule: try Schedule(
                stored: try row.get(at: 4),
                numbers: numbers,
                anchor: try row.get(at: 3, as: CalendarDate?.self)
            ),
            target: try row.get(at: 6, as: Int64?.self).map(Amount.init(thousandths:)),
            weekStart: weekStart
        )
    }
}

extension Schedule {
    /// The value in `habit_version.schedule`.
    package var stored: Int32 {
        switch self {
        case .daily: 1
        case .weekdays: 2
        case .everyNthDate: 3
        case .daysOfMonth: 4
        case .timesPerWeek: 5
        }
    }

    /// The value in `habit_version.numbers`.
    package var numbers: [Int] {
        switch self {
        case .daily: []
        case .weekdays(let days), .daysOfMonth(let days): days.sorted()
        case .everyNthDate(let step, _): [step]
        case .timesPerWeek(let times): [times]
        }
    }

    /// The value in `habit_version.anchor`.
    package var anchor: CalendarDate? {
        if case .everyNthDate(_, let from) = self { from } else { nil }
    }

    /// - Throws: `INTERNAL` for what this build does not know.
    package init(stored value: Int32, numbers: [Int], anchor: CalendarDate?) throws {
        switch (value, numbers.first, anchor) {
        case (1, _, _): self = .daily
        case (2, _, _): self = .weekdays(Set(numbers))
        case (3, let step?, let from?): self = .everyNthDate(step, from: from)
        case (4, _, _): self = .daysOfMonth(Set(numbers))
        case (5, let times?, _): self = .timesPerWeek(times)
        default: throw ServiceError.internal
        }
    }
}

extension Schedule.Unit {
    /// The value in SQL: 1 dates, 2 weeks.
    package var stored: Int32 { self == .dates ? 1 : 2 }

    package init?(stored value: Int32?) {
        switch value {
        case 1: self = .dates
        case 2: self = .weeks
        default: return nil
        }
    }
}
