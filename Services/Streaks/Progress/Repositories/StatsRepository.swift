internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore

/// Totals per user, emitted for the profile that `auth` shows (D13).
enum StatsRepository {
    /// Counts anew: the totals as they are now. In the order of the users' ids, so that no two transactions wait for each other. A user whose
    /// account was purged has none.
    static func refresh(_ users: some Sequence<UserID>, _ sql: Transaction) async throws -> [UserStreakStatsChanged] {
        let sorted = Set(users).sorted()
        guard !sorted.isEmpty else { return [] }
        let rows = try await sql.query(
            """
            INSERT INTO user_stats AS known (user_id, version) SELECT person, 1 FROM unnest(\(sorted)) AS person ORDER BY person
            ON CONFLICT (user_id) DO UPDATE SET version = known.version + 1
            RETURNING user_id, version, total_photos
            """
        )
        let known = try await rows.mapInSlices { row in
            let (user, version, photos) = try row.decode(as: (UserID.self, Int64.self, Int32.self))
            return UserStreakStatsChanged(userID: user, version: version, totalPhotos: photos)
        }
        return try await count(known, of: sorted, sql)
    }

    /// The same for a user who has just posted.
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
        let known = UserStreakStatsChanged(userID: user, version: version, totalPhotos: photos)
        return (try await count([known], of: [user], sql), Int(onTime))
    }

    /// A statement of its own, after their rows are locked: it sees what every transaction before has done.
    private static func count(_ known: [UserStreakStatsChanged], of users: [UserID], _ sql: Transaction) async throws
        -> [UserStreakStatsChanged]
    {
        let totals = try await LedgerReads.totals(.mutual, of: users, sql)
        let purged = totals.filter(\.value.isPurged).map(\.key)
        if !purged.isEmpty { _ = try await sql.execute("DELETE FROM user_stats WHERE user_id = ANY(\(purged))") }
        return known.compactMap { event in
            guard let counted = totals[event.userID], !counted.isPurged else { return nil }
            var event = event
            (event.activeStreaks, event.longestStreak) = (counted.active, counted.longest)
            return event
        }.sorted { $0.userID < $1.userID }
    }

    /// The totals of these users have changed and are emitted later (`deleteStale`). One row, however many they are.
    static func noteStale(_ users: some Sequence<UserID>, at now: Instant, _ sql: Transaction) async throws {
        let sorted = Set(users).sorted()
        guard !sorted.isEmpty else { return }
        _ = try await sql.execute("INSERT INTO stale_totals (users, noted_at) VALUES (\(sorted), \(now))")
    }

    /// Deletes the notes that have waited longest, other replicas' left out (D7). - Returns: the users noted in them.
    static func deleteStale(_ sql: Transaction) async throws -> [UserID] {
        try await sql.query(
            """
            DELETE FROM stale_totals WHERE id = ANY(ARRAY(SELECT id FROM stale_totals ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED))
            RETURNING users
            """
        ).flatMap { try $0.decode(as: [UserID].self) }
    }

    /// Since when totals wait to be emitted.
    static func oldestStale(_ database: Database) async throws -> Instant? {
        try await database.query("SELECT noted_at FROM stale_totals ORDER BY id LIMIT 1").first?.decode(as: Instant.self)
    }
}
