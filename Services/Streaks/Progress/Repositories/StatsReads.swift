internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksDomain

/// What is counted per user as it happens.
struct PersonalCounts: Sendable {
    var photos = 0
    /// Photos of which it is known whether they were on time, and those that were.
    var timedPhotos = 0
    var onTimePhotos = 0
    var recoveriesUsed = 0
    /// Streaks that broke and then ended, in all and by the user alone.
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

    /// Adds to the recovery tokens that users have spent; what is given back is negative. Not among the totals that are emitted.
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
