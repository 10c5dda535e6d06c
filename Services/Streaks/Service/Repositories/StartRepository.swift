internal import Database
internal import Kernel
internal import StreaksAPI

/// What friendships got when their streak was to start.
enum StartRepository {
    /// One start at a time for each of these people, so that the plan's limit holds (MS-1).
    static func lock(_ users: [UserID], _ sql: Transaction) async throws {
        for user in users.sorted() {
            _ = try await sql.query("SELECT pg_advisory_xact_lock(hashtextextended(\(user.description), 1))")
        }
    }

    /// The answer the friendship got before; nil when it has not asked.
    static func answer(to friendship: FriendshipID, _ sql: Transaction) async throws -> StartForFriendshipReply? {
        let started = try await sql.query("SELECT id FROM streak WHERE friendship_id = \(friendship)")
        if let id = try started.first?.decode(as: StreakID.self) { return StartForFriendshipReply(streakID: id.description) }
        let refused = try await sql.query("SELECT reason FROM refused_start WHERE friendship_id = \(friendship)")
        return try refused.first.map { StartForFriendshipReply(reason: try $0.decode(as: String.self)) }
    }

    static func refuse(_ friendship: FriendshipID, _ reason: String, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "INSERT INTO refused_start (friendship_id, reason, refused_at) VALUES (\(friendship), \(reason), \(now)) ON CONFLICT DO NOTHING"
        )
    }
}
