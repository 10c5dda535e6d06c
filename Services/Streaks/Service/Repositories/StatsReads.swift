internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// What is counted per person as it happens.
struct PersonalCounts: Sendable {
    var photos = 0
    /// Photos of which it is known whether they were on time, and those that were.
    var timedPhotos = 0
    var onTimePhotos = 0
    var recoveriesUsed = 0
    /// Streaks that broke and then ended, in all and by the person alone.
    var endedBreaks = (all: 0, byYou: 0)
}

/// What statistics and heat maps are made from, read without locks.
extension StatsRepository {
    static func counts(of user: UserID, _ database: Database) async throws -> PersonalCounts {
        let rows = try await database.query(
            """
            SELECT total_photos, timed_photos, on_time_photos, recoveries_used, ended_breaks, ended_breaks_by_user
            FROM user_stats WHERE user_id = \(user)
            """
        )
        guard
            let row = try rows.first?.decode(
                as: (Int32.self, Int32.self, Int32.self, Int32.self, Int32.self, Int32.self)
            )
        else { return PersonalCounts() }
        return PersonalCounts(
            photos: Int(row.0),
            timedPhotos: Int(row.1),
            onTimePhotos: Int(row.2),
            recoveriesUsed: Int(row.3),
            endedBreaks: (Int(row.4), Int(row.5))
        )
    }

    /// Every streak of a person, whatever became of it.
    static func records(of user: UserID, _ database: Database) async throws -> [StreakTotals.Record] {
        try await database.query(
            """
            SELECT s.status, s.current_count, s.longest_count, s.broken_by
            FROM streak_member m JOIN streak s ON s.id = m.streak_id WHERE m.user_id = \(user)
            """
        ).map { row in
            let status: StreakState.Status =
                switch StreakStatus(rawValue: try row.get(at: 0)) {
                case .active: .active
                case .broken: .broken
                default: .ended
                }
            return StreakTotals.Record(
                status: status,
                count: Int(try row.get(at: 1, as: Int32.self)),
                longest: Int(try row.get(at: 2, as: Int32.self)),
                brokenBy: try row.get(at: 3)
            )
        }
    }

    /// On how many of these dates a person has posted, by ISO weekday.
    static func postedDates(of user: UserID, in dates: ClosedRange<CalendarDate>, _ database: Database) async throws -> [Int: Int]
    {
        let rows = try await database.query(
            """
            SELECT extract(isodow FROM on_date)::int, count(*)::int FROM (
                SELECT DISTINCT c.on_date FROM (\(mine(user))) AS mine JOIN contribution c ON c.streak_id = mine.id
                WHERE c.user_id = \(user) AND c.on_date BETWEEN \(dates.lowerBound) AND \(dates.upperBound)) AS posted
            GROUP BY 1
            """
        )
        let counts = try rows.map { try $0.decode(as: (Int32.self, Int32.self)) }
        return Dictionary(counts.map { (Int($0.0), Int($0.1)) }) { first, _ in first }
    }

    /// What happened on these dates in all streaks of a person; dates on which nothing did are absent.
    static func days(of user: UserID, in dates: ClosedRange<CalendarDate>, _ database: Database) async throws -> [HeatMap.Day] {
        try await database.query(
            """
            SELECT on_date, count(*) FILTER (WHERE is_yours)::int, count(*) FILTER (WHERE is_complete)::int FROM (
                SELECT c.on_date, bool_or(c.user_id = \(user)) AS is_yours, count(*) = 2 AS is_complete
                FROM (\(mine(user))) AS mine JOIN contribution c ON c.streak_id = mine.id
                WHERE c.on_date BETWEEN \(dates.lowerBound) AND \(dates.upperBound)
                GROUP BY c.streak_id, c.on_date) AS shared
            GROUP BY on_date
            """
        ).map { row in
            let (date, posted, completed) = try row.decode(as: (CalendarDate.self, Int32.self, Int32.self))
            return HeatMap.Day(date: date, posted: Int(posted), completed: Int(completed))
        }
    }

    private static func mine(_ user: UserID) -> Query { "SELECT streak_id AS id FROM streak_member WHERE user_id = \(user)" }

    /// One more streak of each that broke and then ended; `isTheirs`: they alone broke it.
    static func addEndedBreaks(_ breaks: [(user: UserID, isTheirs: Bool)], _ sql: Transaction) async throws {
        guard !breaks.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO user_stats AS known (user_id, ended_breaks, ended_breaks_by_user)
            SELECT person, count(*), count(*) FILTER (WHERE is_theirs)
            FROM unnest(\(breaks.map(\.user)), \(breaks.map(\.isTheirs))) AS ended (person, is_theirs) GROUP BY person ORDER BY person
            ON CONFLICT (user_id) DO UPDATE SET ended_breaks = known.ended_breaks + EXCLUDED.ended_breaks,
                ended_breaks_by_user = known.ended_breaks_by_user + EXCLUDED.ended_breaks_by_user
            """
        )
    }

    /// Adds to the recovery tokens that people have spent; what is given back is negative. Not among the totals that auth is told.
    static func add(recoveries: [UserID: Int], _ sql: Transaction) async throws {
        guard !recoveries.isEmpty else { return }
        let spent = recoveries.sorted { $0.key < $1.key }
        _ = try await sql.execute(
            """
            WITH spent AS (SELECT * FROM unnest(\(spent.map(\.key)), \(spent.map { Int32($0.value) })) AS s (person, tokens))
            INSERT INTO user_stats AS known (user_id, recoveries_used) SELECT person, greatest(tokens, 0) FROM spent ORDER BY person
            ON CONFLICT (user_id) DO UPDATE SET recoveries_used =
                greatest(known.recoveries_used + (SELECT tokens FROM spent WHERE person = known.user_id), 0)
            """
        )
    }
}
