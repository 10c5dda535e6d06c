internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// Reads the habits of a user as a screen of one date shows them: a row for each habit, whatever its history.
enum DayRepository {
    /// A habit on a date.
    struct HabitRow: Sendable {
        let id: HabitID
        let streak: StreakID
        let name: String
        let color: String
        let icon: String
        let category: HabitCategoryID?
        let unit: String
        let reminderMinute: Int?
        /// How often the reminder was put off, and on which date that was.
        let snoozes: Int
        let snoozeDate: CalendarDate?
        let isArchived: Bool
        let asOf: CalendarDate
        /// What `count` counts.
        let counts: Schedule.Unit
        let count: Int
        let longest: Int
        /// The week of `asOf`, of a weekly habit.
        let week: HabitWeek?
        /// What holds on the date.
        let schedule: Schedule
        let target: Amount?
        /// nil when it had not begun, or the rows are not as of the date.
        let day: HabitDay?
        /// The newest of the date.
        let completion: CompletionRecord?
    }

    /// The date whose rows are read.
    enum Day: Sendable {
        case on(CalendarDate)
        /// The one that each habit was last brought to.
        case newest

        fileprivate var expression: Query {
            switch self {
            case .on(let date): "\(date)"
            case .newest: "h.as_of"
            }
        }
    }

    /// Which habits are read: those that are neither deleted nor in the archive, in their order.
    struct Selection: Sendable {
        /// In any of these categories; all when there is none.
        var categories: [HabitCategoryID] = []
        /// This one too, when it is in the archive.
        var including: HabitID?

        fileprivate var condition: Query {
            let category: Query = categories.isEmpty ? "true" : "h.category_id = ANY(\(categories))"
            let active: Query = including.map { "(h.archived_at IS NULL OR h.id = \($0))" } ?? "h.archived_at IS NULL"
            return "h.deleted_at IS NULL AND \(active) AND \(category)"
        }
    }

    private static let record: Query = """
        h.id, h.streak_id, h.name, h.color, h.icon, h.category_id, h.unit, h.reminder_minute, h.archived_at IS NOT NULL, h.as_of,
        h.counts, s.current_count, h.longest_dates, h.longest_weeks
        """
    private static let week: Query =
        "h.week_first, h.week_last, h.week_done, h.week_excused, h.week_needed, h.week_left, h.week_is_cut"
    private static let version: Query = "v.schedule, v.numbers, v.anchor, v.target"
    private static let versionColumns: Query = "schedule, numbers, anchor, target"
    private static let day: Query =
        "d.status, d.value, d.completions, d.target, d.is_open, d.outcome, d.due_dates, d.broke_run"

    /// The rows of habits. They are found first, and what belongs to each by its key (`OFFSET 0`): no plan reads all streaks, or sorts the
    /// versions of each habit.
    private static func habits(of user: UserID, _ condition: Query) -> Query {
        "SELECT * FROM habit h WHERE h.user_id = \(user) AND \(condition) OFFSET 0"
    }

    /// - Parameter more: further columns, with a comma before each.
    static func query(of user: UserID, _ date: Day, _ selection: Selection = Selection(), with more: Query = "") -> Query {
        let date = date.expression
        return """
            SELECT \(record), \(week), \(version), \(day), \(CompletionRecord.columnsOfC), h.snoozes, h.snooze_date
                \(more)
            FROM (\(habits(of: user, selection.condition))) AS h
            CROSS JOIN LATERAL (SELECT current_count FROM streak WHERE id = h.streak_id OFFSET 0) AS s
            LEFT JOIN habit_day d ON d.streak_id = h.streak_id AND d.on_date = \(date)
            CROSS JOIN LATERAL (
                (SELECT \(versionColumns) FROM habit_version WHERE streak_id = h.streak_id AND from_date <= \(date)
                    ORDER BY from_date DESC LIMIT 1)
                UNION ALL (SELECT \(versionColumns) FROM habit_version WHERE streak_id = h.streak_id AND NOT EXISTS (
                        SELECT FROM habit_version WHERE streak_id = h.streak_id AND from_date <= \(date))
                    ORDER BY from_date LIMIT 1) LIMIT 1) AS v
            LEFT JOIN LATERAL (SELECT * FROM habit_completion WHERE d.completions > 0 AND streak_id = h.streak_id
                AND on_date = \(date) ORDER BY received_at DESC, id DESC LIMIT 1) AS c ON true
            ORDER BY h.position, h.id
            """
    }

    /// - Parameter row: of `query`.
    static func habit(_ row: Row) throws -> HabitRow {
        let counts = Schedule.Unit(stored: try row.get(at: 10, as: Int32.self)) ?? .dates
        let day = try row.get(at: 25, as: Int32?.self) == nil ? nil : HabitDay(row, at: 25)
        return HabitRow(
            id: try row.get(at: 0),
            streak: try row.get(at: 1),
            name: try row.get(at: 2),
            color: try row.get(at: 3),
            icon: try row.get(at: 4),
            category: try row.get(at: 5),
            unit: try row.get(at: 6),
            reminderMinute: try row.get(at: 7, as: Int32?.self).map(Int.init),
            snoozes: Int(try row.get(at: 33 + CompletionRecord.columnCount, as: Int32.self)),
            snoozeDate: try row.get(at: 34 + CompletionRecord.columnCount),
            isArchived: try row.get(at: 8),
            asOf: try row.get(at: 9),
            counts: counts,
            count: Int(try row.get(at: 11, as: Int32.self)),
            longest: Int(try row.get(at: counts == .weeks ? 13 : 12, as: Int32.self)),
            week: try HabitWeek(row, at: 14),
            schedule: try Schedule(
                stored: try row.get(at: 21),
                numbers: try row.get(at: 22, as: [Int32].self).map(Int.init),
                anchor: try row.get(at: 23, as: CalendarDate?.self)
            ),
            target: try row.get(at: 24, as: Int64?.self).map(Amount.init(thousandths:)),
            day: day,
            completion: try row.get(at: 33, as: CompletionID?.self) == nil ? nil : CompletionRecord(row, at: 33)
        )
    }

    // MARK: screens

    /// The same with the user's clock and their notes on the dates around an instant, whatever their zone, in each row (`clock`, `notes`):
    /// a screen is one statement.
    static func screen(of user: UserID, _ date: Day, around instant: CalendarDate, _ selection: Selection) -> Query {
        let near: Query = "on_date BETWEEN \(instant.advanced(by: -1)) AND \(instant.advanced(by: 1))"
        return query(
            of: user,
            date,
            selection,
            with: """
                , ARRAY(SELECT since FROM zone_change WHERE user_id = \(user) ORDER BY since),
                ARRAY(SELECT zone FROM zone_change WHERE user_id = \(user) ORDER BY since),
                ARRAY(SELECT on_date FROM habit_day_note WHERE user_id = \(user) AND \(near) ORDER BY on_date),
                ARRAY(SELECT note FROM habit_day_note WHERE user_id = \(user) AND \(near) ORDER BY on_date)
                """
        )
    }

    /// - Parameter row: of `screen`.
    static func clock(_ row: Row) throws -> ZoneHistory? {
        let first = 35 + CompletionRecord.columnCount
        return ZoneRepository.history(since: try row.get(at: first), zones: try row.get(at: first + 1))
    }

    /// - Parameter row: of `screen`.
    static func notes(_ row: Row) throws -> [CalendarDate: String] {
        let first = 37 + CompletionRecord.columnCount
        let dates: [CalendarDate] = try row.get(at: first)
        return Dictionary(zip(dates, try row.get(at: first + 1, as: [String].self))) { first, _ in first }
    }

    // MARK: weeks

    /// What weeks of the past are judged by.
    struct History: Sendable {
        var versions: [HabitEntries.Version] = []
        var start: CalendarDate?
        var days: [CalendarDate: HabitDay] = [:]
        var pauses: [Range<CalendarDate>] = []
    }

    /// The statements whose rows make `histories`: of habits of a user that meet a condition on `habit` h.
    static func historyQueries(of user: UserID, _ selection: Selection, in dates: ClosedRange<CalendarDate>) -> [Query] {
        let condition = selection.condition
        return [
            """
            SELECT v.streak_id, v.from_date, v.schedule, v.numbers, v.anchor, v.target, v.week_start
            FROM habit h JOIN habit_version v ON v.streak_id = h.streak_id
            WHERE h.user_id = \(user) AND \(condition) ORDER BY v.streak_id, v.from_date
            """,
            """
            SELECT d.streak_id, d.on_date, \(day)
            FROM habit h JOIN habit_day d ON d.streak_id = h.streak_id
            WHERE h.user_id = \(user) AND \(condition) AND d.on_date BETWEEN \(dates.lowerBound) AND \(dates.upperBound)
            """,
            """
            SELECT p.streak_id, p.from_date, p.until_date FROM habit h JOIN streak_pause p ON p.streak_id = h.streak_id
            WHERE h.user_id = \(user) AND \(condition) AND p.from_date < p.until_date
            """,
            """
            SELECT h.streak_id, (SELECT min(on_date) FROM habit_day d WHERE d.streak_id = h.streak_id) FROM habit h
            WHERE h.user_id = \(user) AND \(condition)
            """,
        ]
    }

    /// - Parameter rows: of `historyQueries`, in their order.
    static func histories(_ rows: [[Row]]) throws -> [StreakID: History] {
        var histories: [StreakID: History] = [:]
        for row in rows[0] {
            let version = HabitEntries.Version(
                from: try row.get(at: 1),
                schedule: try Schedule(
                    stored: try row.get(at: 2),
                    numbers: try row.get(at: 3, as: [Int32].self).map(Int.init),
                    anchor: try row.get(at: 4, as: CalendarDate?.self)
                ),
                target: try row.get(at: 5, as: Int64?.self).map(Amount.init(thousandths:)),
                weekStart: Int(try row.get(at: 6, as: Int32.self))
            )
            histories[try row.get(at: 0), default: History()].versions.append(version)
        }
        for row in rows[1] {
            histories[try row.get(at: 0), default: History()].days[try row.get(at: 1)] = try HabitDay(row, at: 2)
        }
        for row in rows[2] {
            let (from, until): (CalendarDate, CalendarDate) = (try row.get(at: 1), try row.get(at: 2))
            histories[try row.get(at: 0), default: History()].pauses.append(from..<until)
        }
        for row in rows[3] {
            histories[try row.get(at: 0), default: History()].start = try row.get(at: 1, as: CalendarDate?.self)
        }
        return histories
    }

    // MARK: notes

    /// The user's notes on the dates around an instant, whatever their zone.
    static func notes(of user: UserID, around date: CalendarDate) -> Query {
        """
        SELECT on_date, note FROM habit_day_note
        WHERE user_id = \(user) AND on_date BETWEEN \(date.advanced(by: -1)) AND \(date.advanced(by: 1))
        """
    }
}
