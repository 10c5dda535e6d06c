internal import Database
internal import Kernel
internal import StreaksDomain

/// The runs of streaks, for the cohorts (TS-5).
enum RunRepository {
    /// Runs that grew; known ones stay as they are.
    static func add(_ runs: [(streak: StreakID, start: CalendarDate, kind: StreakKind)], _ sql: Transaction) async throws {
        guard !runs.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO analytics_run (streak_id, run_start, kind)
            SELECT * FROM unnest(\(runs.map(\.streak)), \(runs.map(\.start)), \(runs.map { Int32($0.kind.rawValue) }))
            ON CONFLICT DO NOTHING
            """
        )
    }

    /// Breaks: of each streak's runs that began by then the last one ends with the missed date. A streak that ends after its last break
    /// changes no run.
    static func end(_ breaks: [(streak: StreakID, missed: CalendarDate)], _ sql: Transaction) async throws {
        guard !breaks.isEmpty else { return }
        _ = try await sql.execute(
            """
            UPDATE analytics_run AS run SET broken_on = ended.missed
            FROM (SELECT streak_id, run_start, min(missed) AS missed
                FROM (SELECT b.streak_id, b.missed, (SELECT max(r.run_start) FROM analytics_run r
                    WHERE r.streak_id = b.streak_id AND r.run_start <= b.missed) AS run_start
                    FROM unnest(\(breaks.map(\.streak)), \(breaks.map(\.missed))) AS b (streak_id, missed)) AS found
                GROUP BY streak_id, run_start) AS ended
            WHERE run.streak_id = ended.streak_id AND run.run_start = ended.run_start AND run.broken_on IS NULL
            """
        )
    }

    struct Run: Sendable {
        let streak: StreakID
        let start: CalendarDate
        let kind: StreakKind
        /// nil while it runs.
        let brokenOn: CalendarDate?
    }

    /// Replaces all runs of some streaks.
    static func replace(of streaks: [StreakID], by runs: [Run], _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM analytics_run WHERE streak_id = ANY(\(streaks))")
        guard !runs.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO analytics_run (streak_id, run_start, kind, broken_on)
            SELECT * FROM unnest(\(runs.map(\.streak)), \(runs.map(\.start)), \(runs.map { Int32($0.kind.rawValue) }),
                \(runs.map(\.brokenOn)))
            """
        )
    }

    /// Makes the last run of each streak the one that runs now: a run that began earlier after all, or that two have become,
    /// replaces those that began later.
    static func align(_ running: [(streak: StreakID, start: CalendarDate, kind: StreakKind)], _ sql: Transaction) async throws {
        guard !running.isEmpty else { return }
        let (ids, starts) = (running.map(\.streak), running.map(\.start))
        _ = try await sql.execute(
            """
            DELETE FROM analytics_run AS run USING unnest(\(ids), \(starts)) AS now (streak_id, start)
            WHERE run.streak_id = now.streak_id AND run.run_start > now.start
            """
        )
        _ = try await sql.execute(
            """
            INSERT INTO analytics_run (streak_id, run_start, kind)
            SELECT * FROM unnest(\(ids), \(starts), \(running.map { Int32($0.kind.rawValue) }))
            ON CONFLICT (streak_id, run_start) DO UPDATE SET broken_on = NULL WHERE analytics_run.broken_on IS NOT NULL
            """
        )
    }

    /// The cohorts of the weeks that begin in a range.
    static func cohorts(_ kinds: [StreakKind], in weeks: ClosedRange<CalendarDate>, _ database: Database) async throws
        -> [AnalyticsCohort]
    {
        // A week that begins on the last date has six more.
        let last = weeks.upperBound.advanced(by: 6)
        let rows = try await database.query(
            """
            SELECT week, kind, count(*), count(*) FILTER (WHERE broken_on IS NULL OR broken_on > run_start + 7),
                count(*) FILTER (WHERE broken_on IS NULL OR broken_on > run_start + 30),
                count(*) FILTER (WHERE broken_on IS NULL OR broken_on > run_start + 90)
            FROM (SELECT date_trunc('week', run_start::timestamp)::date AS week, kind::integer, run_start, broken_on
                FROM analytics_run
                WHERE run_start BETWEEN \(weeks.lowerBound) AND \(last) AND kind = ANY(\(kinds.map(\.rawValue)))) AS run
            WHERE week BETWEEN \(weeks.lowerBound) AND \(weeks.upperBound)
            GROUP BY week, kind ORDER BY week, kind
            """
        )
        return try rows.compactMap { row in
            let (week, kind, started, week1, month1, month3) = try row.decode(
                as: (CalendarDate.self, Int32.self, Int64.self, Int64.self, Int64.self, Int64.self)
            )
            guard let kind = StreakKind(rawValue: kind) else { return nil }
            return AnalyticsCohort(week: week, kind: kind, started: started, after: [7: week1, 30: month1, 90: month3])
        }
    }
}
