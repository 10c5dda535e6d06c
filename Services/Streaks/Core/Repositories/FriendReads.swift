package import Database
package import Kernel
internal import StreaksDomain

/// What features read of users' streaks with friends, without locks.
package enum FriendReads {
    /// With how many friends each of these users has had a streak that reached a count, whatever became of it.
    package static func longFriendStreaks(of users: [UserID], reaching count: Int, _ sql: some QueryExecutor) async throws
        -> [UserID: Int]
    {
        let rows = try await sql.query(
            """
            SELECT person, (
                SELECT count(DISTINCT f.user_id)::int FROM streak_member m
                JOIN streak s ON s.id = m.streak_id AND s.kind = \(StreakKind.mutual.rawValue) AND s.longest_count >= \(Int32(count))
                JOIN streak_member f ON f.streak_id = s.id AND f.user_id <> person
                WHERE m.user_id = person AND m.left_at IS NULL)
            FROM unnest(\(users)) AS person
            """
        )
        let counts = try rows.map { try $0.decode(as: (UserID.self, Int32.self)) }
        return Dictionary(counts.map { ($0.0, Int($0.1)) }) { first, _ in first }
    }
}
