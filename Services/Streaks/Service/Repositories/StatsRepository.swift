internal import Database
internal import Kernel
internal import StreaksAPI

/// Totals per user, told to `auth` for the profile (D13).
enum StatsRepository {
    /// Counts anew and says what the totals are now. `newPhotos` adds to the number of snaps.
    static func refresh(_ user: UserID, newPhotos: Int = 0, _ sql: Transaction) async throws -> UserStreakStatsChanged {
        let rows = try await sql.query(
            """
            INSERT INTO user_stats AS known (user_id, version, total_photos) VALUES (\(user), 1, \(newPhotos))
            ON CONFLICT (user_id) DO UPDATE SET version = known.version + 1, total_photos = known.total_photos + \(newPhotos)
            RETURNING version, total_photos
            """
        )
        guard let (version, photos) = try rows.first?.decode(as: (Int64.self, Int32.self)) else { throw ServiceError.internal }
        let totals = try await sql.query(
            """
            SELECT count(*) FILTER (WHERE status = 1)::int, coalesce(max(longest_count), 0)::int FROM
                (SELECT status, longest_count FROM streak WHERE user_a = \(user) UNION ALL
                 SELECT status, longest_count FROM streak WHERE user_b = \(user)) AS mine
            """
        )
        guard let (active, longest) = try totals.first?.decode(as: (Int32.self, Int32.self)) else { throw ServiceError.internal }
        return UserStreakStatsChanged(
            userID: user.description,
            version: version,
            activeStreaks: active,
            longestStreak: longest,
            totalPhotos: photos
        )
    }
}
