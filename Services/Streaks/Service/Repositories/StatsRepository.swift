internal import Database
internal import Kernel
internal import StreaksAPI

/// Totals per user, told to `auth` for the profile (D13).
enum StatsRepository {
    /// Counts anew and says what the totals are now. In the order of the people's ids, so that no two transactions wait for each other.
    /// Who is gone for good has none.
    static func refresh(_ users: some Sequence<UserID>, _ sql: Transaction) async throws -> [UserStreakStatsChanged] {
        let people = Set(users).sorted()
        guard !people.isEmpty else { return [] }
        let rows = try await sql.query(
            """
            INSERT INTO user_stats AS known (user_id, version) SELECT person, 1 FROM unnest(\(people)) AS person ORDER BY person
            ON CONFLICT (user_id) DO UPDATE SET version = known.version + 1
            RETURNING user_id, version, total_photos
            """
        )
        let known = try await rows.mapInSlices { row in
            let (user, version, photos) = try row.decode(as: (UserID.self, Int64.self, Int32.self))
            return UserStreakStatsChanged(userID: user.description, version: version, totalPhotos: photos)
        }
        return try await count(known, of: people, sql)
    }

    /// The same for who has just posted.
    ///
    /// - Parameters:
    ///   - newPhotos: adds to the number of snaps.
    ///   - newOnTime: how many of them were inside their window (PW-3).
    /// - Returns: the totals, and how many snaps were on time now.
    static func refresh(_ user: UserID, newPhotos: Int, newOnTime: Int, _ sql: Transaction) async throws
        -> (totals: [UserStreakStatsChanged], onTime: Int)
    {
        let rows = try await sql.query(
            """
            INSERT INTO user_stats AS known (user_id, version, total_photos, timed_photos, on_time_photos)
            VALUES (\(user), 1, \(newPhotos), \(newPhotos), \(newOnTime))
            ON CONFLICT (user_id) DO UPDATE SET version = known.version + 1, total_photos = known.total_photos + \(newPhotos),
                timed_photos = known.timed_photos + \(newPhotos), on_time_photos = known.on_time_photos + \(newOnTime)
            RETURNING version, total_photos, on_time_photos
            """
        )
        guard let (version, photos, onTime) = try rows.first?.decode(as: (Int64.self, Int32.self, Int32.self)) else {
            throw ServiceError.internal
        }
        let known = UserStreakStatsChanged(userID: user.description, version: version, totalPhotos: photos)
        return (try await count([known], of: [user], sql), Int(onTime))
    }

    /// A statement of its own, after their rows are locked: it sees what everybody before has done.
    private static func count(_ known: [UserStreakStatsChanged], of people: [UserID], _ sql: Transaction) async throws
        -> [UserStreakStatsChanged]
    {
        var totals: [String: (active: Int32, longest: Int32)] = [:]
        var gone: [UserID] = []
        for row in try await sql.query(countQuery(people)) {
            let (user, active, longest, isGone) = try row.decode(as: (UserID.self, Int32.self, Int32.self, Bool.self))
            if isGone { gone.append(user) } else { totals[user.description] = (active, longest) }
        }
        if !gone.isEmpty { _ = try await sql.execute("DELETE FROM user_stats WHERE user_id = ANY(\(gone))") }
        return known.compactMap { event in
            totals[event.userID].map { counted in
                var event = event
                (event.activeStreaks, event.longestStreak) = (counted.active, counted.longest)
                return event
            }
        }.sorted { $0.userID < $1.userID }
    }

    static func countQuery(_ people: [UserID]) -> Query {
        """
        SELECT person, count(*) FILTER (WHERE status = 1)::int, coalesce(max(longest_count), 0)::int,
            EXISTS (SELECT FROM purged_user WHERE user_id = person)
        FROM unnest(\(people)) AS person LEFT JOIN LATERAL (
            SELECT s.status, s.longest_count FROM streak_member m JOIN streak s ON s.id = m.streak_id
            WHERE m.user_id = person OFFSET 0) AS mine ON true
        GROUP BY person
        """
    }

    /// The totals of these people have changed: they are told later (`takeStale`). One row, however many they are.
    static func noteStale(_ users: some Sequence<UserID>, at now: Instant, _ sql: Transaction) async throws {
        let people = Set(users).sorted()
        guard !people.isEmpty else { return }
        _ = try await sql.execute("INSERT INTO stale_totals (users, noted_at) VALUES (\(people), \(now))")
    }

    /// Those who have waited longest; from now on they are the caller's. Other replicas' are passed over (D7).
    static func takeStale(_ sql: Transaction) async throws -> [UserID] {
        try await sql.query(
            """
            DELETE FROM stale_totals WHERE id = ANY(ARRAY(SELECT id FROM stale_totals ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED))
            RETURNING users
            """
        ).flatMap { try $0.decode(as: [UserID].self) }
    }

    /// Since when somebody's totals wait to be told.
    static func oldestStale(_ database: Database) async throws -> Instant? {
        try await database.query("SELECT noted_at FROM stale_totals ORDER BY id LIMIT 1").first?.decode(as: Instant.self)
    }
}
