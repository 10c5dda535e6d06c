internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// Reads what became of the dates of habits, summed where there are many: a mark for each date, and sums of values.
enum MarkRepository {
    /// The marks of a habit, and sums of some of their dates.
    struct Marked: Sendable {
        var marks: HabitMarks
        /// Of the dates that sums were asked for.
        var completions: Int64
        var value: Amount
    }

    /// - Parameters:
    ///   - dates: whose marks.
    ///   - sums: the dates from this one on are summed.
    ///   - includesAhead: whether the dates are up to today, and what is done and ends later is read too: a week that is not over.
    /// - Returns: of each habit that has such dates.
    static func marks(
        of streaks: [StreakID],
        in dates: ClosedRange<CalendarDate>,
        sums: CalendarDate,
        includesAhead: Bool = true,
        _ database: Database
    ) async throws -> [StreakID: Marked] {
        guard !streaks.isEmpty else { return [:] }
        let queries = [marks(streaks, dates, sums)] + (includesAhead ? [ahead(streaks, dates.upperBound)] : [])
        let rows = try await database.query(together: queries)
        var ahead: [StreakID: [CalendarDate]] = [:]
        for row in rows.dropFirst().joined() { ahead[try row.get(at: 0), default: []].append(try row.get(at: 1)) }
        var marked: [StreakID: Marked] = [:]
        for row in rows[0] {
            let streak: StreakID = try row.get(at: 0)
            let first: CalendarDate = try row.get(at: 1)
            var codes = Array(try row.get(at: 3, as: String.self).utf8)
            // The dates of a habit have no gap.
            guard codes.count == first.distance(to: try row.get(at: 2)) + 1 else { throw ServiceError.internal }
            for end in (ahead[streak] ?? []).sorted() {
                codes += repeatElement(0, count: first.distance(to: end) - codes.count)
                codes.append(HabitMark(.open, .done).code)
            }
            guard let marks = HabitMarks(from: first, codes: codes) else { throw ServiceError.internal }
            marked[streak] = Marked(
                marks: marks,
                completions: try row.get(at: 4),
                value: Amount(thousandths: try row.get(at: 5))
            )
        }
        return marked
    }

    /// What changes whenever the dates of a habit do: the transaction that wrote its row last, and where the row lies.
    static func versions(of streaks: [StreakID], _ database: Database) async throws -> [StreakID: String] {
        let rows = try await database.query(
            "SELECT streak_id, xmin::text || ' ' || ctid::text FROM habit WHERE streak_id = ANY(\(streaks))"
        )
        return Dictionary(try rows.map { (try $0.get(at: 0), try $0.get(at: 1)) }) { first, _ in first }
    }

    /// Each habit by itself, so that its dates come in their order from the index, which `string_agg` keeps; nothing is sorted, and no row is
    /// fetched (the index has these columns). `HabitMark.code` is status + 16 × outcome.
    private static func marks(_ streaks: [StreakID], _ dates: ClosedRange<CalendarDate>, _ sums: CalendarDate) -> Query {
        """
        SELECT s.streak_id, d.* FROM unnest(\(streaks)) AS s (streak_id) CROSS JOIN LATERAL (
            SELECT min(on_date) AS first, max(on_date) AS last, string_agg(chr(status + 16 * coalesce(outcome, 0)), '') AS codes,
                coalesce(sum(completions) FILTER (WHERE on_date >= \(sums)), 0)::bigint AS completions,
                coalesce(sum(value) FILTER (WHERE on_date >= \(sums)), 0)::bigint AS value
            FROM (SELECT on_date, status, outcome, completions, value FROM habit_day
                WHERE streak_id = s.streak_id AND on_date BETWEEN \(dates.lowerBound) AND \(dates.upperBound)
                ORDER BY on_date) AS ordered) AS d
        WHERE d.first IS NOT NULL
        """
    }

    /// The last dates of slots that are done before they are over.
    private static func ahead(_ streaks: [StreakID], _ today: CalendarDate) -> Query {
        """
        SELECT streak_id, on_date FROM habit_day
        WHERE streak_id = ANY(\(streaks)) AND on_date > \(today) AND outcome = \(HabitDay.Outcome.done.rawValue)
        """
    }

    /// What a habit was like over the last 90 dates.
    struct Recent: Sendable {
        var pace: HabitProjection.Pace
        var datesDone: Int
    }

    /// - Parameter today: the last of the dates; a week that is done and ends later too.
    static func recent(_ streaks: [StreakID], until today: CalendarDate, _ database: Database) async throws -> [StreakID: Recent]
    {
        guard !streaks.isEmpty else { return [:] }
        let (done, missed) = (HabitDay.Outcome.done.rawValue, HabitDay.Outcome.missed.rawValue)
        let rows = try await database.query(
            """
            SELECT streak_id, count(*) FILTER (WHERE outcome = \(done)), count(*) FILTER (WHERE outcome IN (\(done), \(missed))),
                coalesce(sum(due_dates) FILTER (WHERE outcome IN (\(done), \(missed))), 0)::bigint,
                count(*) FILTER (WHERE on_date <= \(today)
                    AND status IN (\(HabitDay.Status.done.rawValue), \(HabitDay.Status.extra.rawValue))),
                count(*) FILTER (WHERE status = \(HabitDay.Status.skipped.rawValue)
                    AND outcome = \(HabitDay.Outcome.excused.rawValue))
            FROM habit_day
            WHERE streak_id = ANY(\(streaks)) AND on_date >= \(today.advanced(by: 1 - HabitConsistency.reach))
                AND (on_date <= \(today) OR outcome = \(done))
            GROUP BY streak_id
            """
        )
        return Dictionary(
            try rows.map { row in
                func number(_ column: Int) throws -> Int { Int(try row.get(at: column, as: Int64.self)) }
                let rate = HabitRate(done: try number(1), counted: try number(2))
                let pace = HabitProjection.Pace(rate: rate, dueDates: try number(3), skipped: try number(5))
                return (try row.get(at: 0), Recent(pace: pace, datesDone: try number(4)))
            }
        ) { first, _ in first }
    }

    /// At which parts of the day completions were made whose time is known.
    static func times(of streaks: [StreakID], in dates: ClosedRange<CalendarDate>, _ database: Database) async throws
        -> [StreakID: HabitTimes]
    {
        guard !streaks.isEmpty else { return [:] }
        let (noon, evening) = (PartOfDay.afternoon.minutes.lowerBound, PartOfDay.evening.minutes.lowerBound)
        let rows = try await database.query(
            """
            SELECT streak_id, count(*) FILTER (WHERE minute < \(noon)),
                count(*) FILTER (WHERE minute >= \(noon) AND minute < \(evening)), count(*) FILTER (WHERE minute >= \(evening))
            FROM habit_completion
            WHERE streak_id = ANY(\(streaks)) AND on_date BETWEEN \(dates.lowerBound) AND \(dates.upperBound)
                AND minute IS NOT NULL
            GROUP BY streak_id
            """
        )
        return Dictionary(
            try rows.map { row in
                func number(_ column: Int) throws -> Int { Int(try row.get(at: column, as: Int64.self)) }
                let times = HabitTimes([.morning: try number(1), .afternoon: try number(2), .evening: try number(3)])
                return (try row.get(at: 0), times)
            }
        ) { first, _ in first }
    }

    /// How many completions habits had on these dates.
    static func completions(of streaks: [StreakID], in dates: ClosedRange<CalendarDate>, _ database: Database) async throws -> Int
    {
        let rows = try await database.query(
            """
            SELECT coalesce(sum(completions), 0)::bigint FROM habit_day
            WHERE streak_id = ANY(\(streaks)) AND on_date BETWEEN \(dates.lowerBound) AND \(dates.upperBound)
            """
        )
        return Int(try rows.first?.get(at: 0, as: Int64.self) ?? 0)
    }

    /// Everything that a habit ever had.
    struct Totals: Sendable {
        var completions: Int64
        var datesDone: Int64
        var value: Amount
    }

    static func totals(of streak: StreakID, until today: CalendarDate, _ database: Database) async throws -> Totals {
        let rows = try await database.query(
            """
            SELECT coalesce(sum(completions), 0)::bigint,
                count(*) FILTER (WHERE status IN (\(HabitDay.Status.done.rawValue), \(HabitDay.Status.extra.rawValue))),
                coalesce(sum(value), 0)::bigint
            FROM habit_day WHERE streak_id = \(streak) AND on_date <= \(today)
            """
        )
        guard let row = rows.first else { throw ServiceError.internal }
        return Totals(
            completions: try row.get(at: 0),
            datesDone: try row.get(at: 1),
            value: Amount(thousandths: try row.get(at: 2))
        )
    }

    /// The runs of a habit in time order.
    static func runs(of streak: StreakID, _ database: Database) async throws -> [HabitRun] {
        try await database.query("SELECT \(HabitRun.columns) FROM habit_run WHERE streak_id = \(streak) ORDER BY from_date").map {
            try HabitRun($0)
        }
    }

    /// How much of the target was reached on dates that are begun and not done, in hundredths, at most 99.
    static func partialPercents(of streak: StreakID, in dates: ClosedRange<CalendarDate>, _ database: Database) async throws
        -> [CalendarDate: Int]
    {
        let rows = try await database.query(
            """
            SELECT on_date, least(99, value * 100 / target) FROM habit_day
            WHERE streak_id = \(streak) AND on_date BETWEEN \(dates.lowerBound) AND \(dates.upperBound)
                AND status = \(HabitDay.Status.partial.rawValue) AND target > 0
            """
        )
        return Dictionary(try rows.map { (try $0.get(at: 0), Int(try $0.get(at: 1, as: Int64.self))) }) { first, _ in first }
    }
}
