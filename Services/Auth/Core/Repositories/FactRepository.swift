internal import Database
internal import Kernel

/// Facts of streaks and billing about a user; an older version never overwrites a newer one (D13).
enum FactRepository {
    static func store(stats user: UserID, version: Int64, active: Int32, longest: Int32, photos: Int32, _ sql: Transaction)
        async throws
    {
        _ = try await sql.execute(
            """
            INSERT INTO streak_stats AS known (user_id, version, active_streaks, longest_streak, total_photos)
            VALUES (\(user), \(version), \(active), \(longest), \(photos))
            ON CONFLICT (user_id) DO UPDATE SET version = EXCLUDED.version, active_streaks = EXCLUDED.active_streaks,
                longest_streak = EXCLUDED.longest_streak, total_photos = EXCLUDED.total_photos
            WHERE known.version < EXCLUDED.version
            """
        )
    }

    static func store(balance user: UserID, version: Int64, balance: Int32, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO recovery_balance AS known (user_id, version, balance) VALUES (\(user), \(version), \(balance))
            ON CONFLICT (user_id) DO UPDATE SET version = EXCLUDED.version, balance = EXCLUDED.balance
            WHERE known.version < EXCLUDED.version
            """
        )
    }
}
