internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// Reads of a habit's detail screen and calendar, by the streak of the habit.
enum DetailReads {
    /// A date of a calendar.
    struct Day: Sendable {
        let day: HabitDay
        /// The newest of the date.
        let completion: CompletionRecord?
    }

    /// The streak of a habit of a user, inside a statement.
    private static func streak(_ id: HabitID, _ user: UserID) -> Query {
        "(SELECT streak_id FROM habit WHERE user_id = \(user) AND id = \(id) AND deleted_at IS NULL)"
    }

    /// Whether a habit is in the archive since which date.
    struct State: Sendable {
        /// The last date that was judged; nil when it is not in the archive.
        let archivedAfter: CalendarDate?
    }

    static func state(of id: HabitID, _ user: UserID) -> Query {
        """
        SELECT CASE WHEN archived_at IS NOT NULL THEN as_of END FROM habit
        WHERE user_id = \(user) AND id = \(id) AND deleted_at IS NULL
        """
    }

    /// - Parameter rows: of `state(of:_:)`. - Returns: nil when there is no such habit.
    static func state(_ rows: [Row]) throws -> State? { try rows.first.map { State(archivedAfter: try $0.get(at: 0)) } }

    static func days(of id: HabitID, _ user: UserID, in dates: ClosedRange<CalendarDate>) -> Query {
        """
        SELECT d.on_date, d.status, d.value, d.completions, d.target, d.is_open, d.outcome, d.due_dates, d.broke_run,
            \(CompletionRecord.columnsOfC)
        FROM habit_day d
        LEFT JOIN LATERAL (SELECT * FROM habit_completion WHERE d.completions > 0 AND streak_id = d.streak_id
            AND on_date = d.on_date ORDER BY received_at DESC, id DESC LIMIT 1) AS c ON true
        WHERE d.streak_id = \(streak(id, user)) AND d.on_date BETWEEN \(dates.lowerBound) AND \(dates.upperBound)
        """
    }

    /// - Parameter rows: of `days`.
    static func days(_ rows: [Row]) throws -> [CalendarDate: Day] {
        var days: [CalendarDate: Day] = [:]
        let first = 1 + HabitDay.columnCount
        for row in rows {
            days[try row.get(at: 0)] = Day(
                day: try HabitDay(row, at: 1),
                completion: try row.get(at: first, as: CompletionID?.self) == nil ? nil : CompletionRecord(row, at: first)
            )
        }
        return days
    }

    /// Everything that was done on a date, in the order it came.
    static func completions(of id: HabitID, _ user: UserID, on date: CalendarDate) -> Query {
        """
        SELECT \(CompletionRecord.columns) FROM habit_completion
        WHERE streak_id = \(streak(id, user)) AND on_date = \(date) ORDER BY received_at, id
        """
    }

    /// All that was ever done.
    struct Totals: Sendable {
        var datesDone = 0
        var completions: Int64 = 0
        var value = Amount.zero
    }

    static func totals(of id: HabitID, _ user: UserID) -> Query {
        """
        SELECT count(*) FILTER (WHERE status IN (\(HabitDay.Status.done.rawValue), \(HabitDay.Status.extra.rawValue))),
            coalesce(sum(completions), 0)::bigint, coalesce(sum(value), 0)::bigint
        FROM habit_day WHERE streak_id = \(streak(id, user))
        """
    }

    /// - Parameter rows: of `totals(of:_:)`.
    static func totals(_ rows: [Row]) throws -> Totals {
        guard let row = rows.first else { return Totals() }
        return Totals(
            datesDone: try row.get(at: 0, as: Int.self),
            completions: try row.get(at: 1),
            value: Amount(thousandths: try row.get(at: 2))
        )
    }

    /// The longest run of each unit, the latest of equal ones.
    static func bestRuns(of id: HabitID, _ user: UserID) -> Query {
        """
        SELECT DISTINCT ON (counts) from_date, through_date, count, counts, ended, ended_on FROM habit_run
        WHERE streak_id = \(streak(id, user)) ORDER BY counts, count DESC, from_date DESC
        """
    }

    /// - Parameter rows: of `bestRuns`.
    static func runs(_ rows: [Row]) throws -> [HabitRun] { try rows.map { try HabitRun($0) } }

    /// A milestone that was reached.
    struct Milestone: Sendable {
        let count: Int
        let unit: Schedule.Unit
        let date: CalendarDate
    }

    static func milestones(of id: HabitID, _ user: UserID) -> Query {
        """
        SELECT count, counts, on_date FROM habit_milestone WHERE streak_id = \(streak(id, user)) ORDER BY place DESC LIMIT 50
        """
    }

    /// - Parameter rows: of `milestones(of:_:)`.
    static func milestones(_ rows: [Row]) throws -> [Milestone] {
        try rows.map { row in
            Milestone(
                count: Int(try row.get(at: 0, as: Int32.self)),
                unit: Schedule.Unit(stored: try row.get(at: 1, as: Int32.self)) ?? .dates,
                date: try row.get(at: 2)
            )
        }
    }

    /// A condition on `habit` h: the habit, and others of its category that are not in the archive.
    static func withRelated(_ id: HabitID, of user: UserID) -> Query {
        """
        h.deleted_at IS NULL AND (h.id = \(id) OR h.archived_at IS NULL
            AND h.category_id = (SELECT category_id FROM habit WHERE user_id = \(user) AND id = \(id)))
        """
    }
}
