internal import Database
internal import Kernel
internal import StreaksDomain

/// What users have earned (MS-7).
enum AchievementRepository {
    typealias Achievement = StreaksDomain.Achievement

    /// Notes what is earned. - Returns: what had not been before.
    static func add(_ grants: [Achievement.Grant], at now: Instant, _ sql: Transaction) async throws -> [Achievement.Grant] {
        let (users, kinds) = (grants.map(\.user), grants.map(\.achievement.rawValue))
        // In one order, so that no two transactions wait for each other.
        let rows = try await sql.query(
            """
            INSERT INTO achievement (user_id, kind, earned_at)
            SELECT user_id, kind, \(now) FROM unnest(\(users), \(kinds)) AS earned (user_id, kind) ORDER BY user_id, kind
            ON CONFLICT DO NOTHING RETURNING user_id, kind
            """
        )
        return try rows.compactMap { row -> Achievement.Grant? in
            let (user, kind) = try row.decode(as: (UserID.self, String.self))
            return Achievement(rawValue: kind).map { Achievement.Grant(user, $0) }
        }.sorted()
    }

    /// When a user earned what they have.
    static func earned(by user: UserID, _ database: Database) async throws -> [Achievement: Instant] {
        var earned: [Achievement: Instant] = [:]
        for row in try await database.query("SELECT kind, earned_at FROM achievement WHERE user_id = \(user)") {
            let (kind, instant) = try row.decode(as: (String.self, Instant.self))
            if let achievement = Achievement(rawValue: kind) { earned[achievement] = instant }
        }
        return earned
    }
}
