internal import Database
internal import Kernel
internal import StreaksAPI

/// Totals per user, told to `auth` for the profile (D13).
enum StatsRepository {
    /// Counts anew and says what the totals are now.
    static func refresh(_ user: UserID, _ sql: Transaction) async throws -> UserStreakStatsChanged {
        try await refresh(user, newPhotos: 0, newOnTime: 0, sql).totals
    }

    /// The same for who has just posted.
    ///
    /// - Parameters:
    ///   - newPhotos: adds to the number of snaps.
    ///   - newOnTime: how many of them were inside their window (PW-3).
    /// - Returns: the totals, and how many snaps were on time now.
    static func refresh(_ user: UserID, newPhotos: Int, newOnTime: Int, _ sql: Transaction) async throws
        -> (totals: UserStreakStatsChanged, onTime: Int)
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
        let totals = try await sql.query(
            """
            SELECT count(*) FILTER (WHERE status = 1)::int, coalesce(max(longest_count), 0)::int FROM
                (SELECT status, longest_count FROM streak WHERE user_a = \(user) UNION ALL
                 SELECT status, longest_count FROM streak WHERE user_b = \(user)) AS mine
            """
        )
        guard let (active, longest) = try totals.first?.decode(as: (Int32.self, Int32.self)) else { throw ServiceError.internal }
        let event = UserStreakStatsChanged(
            userID: user.description,
            version: version,
            activeStreaks: active,
            longestStreak: longest,
            totalPhotos: photos
        )
        return (event, Int(onTime))
    }
}
