internal import Database
internal import Kernel
internal import StreaksAPI

/// What friendships got when their streak was to start, and which streak belongs to which.
enum StartRepository {
    /// One start at a time for each of these users, so that the plan's limit holds (MS-1).
    static func lock(_ users: [UserID], _ sql: Transaction) async throws {
        for user in users.sorted() {
            try await sql.lock(named: "start \(user)")
        }
    }

    /// The answer the friendship got before; nil when it has not asked. A streak that a friend started after a refusal is not it.
    static func answer(to friendship: FriendshipID, _ sql: Transaction) async throws -> StartForFriendshipReply? {
        let refused = try await sql.query("SELECT reason FROM refused_start WHERE friendship_id = \(friendship)")
        if let reason = try refused.first?.decode(as: String.self) { return StartForFriendshipReply(reason: reason) }
        // Ids are in the order of time.
        let started = try await sql.query(
            "SELECT streak_id FROM mutual_streak WHERE friendship_id = \(friendship) ORDER BY streak_id LIMIT 1"
        )
        return try started.first.map { StartForFriendshipReply(streakID: try $0.decode(as: StreakID.self)) }
    }

    static func insert(_ friendship: FriendshipID, of streak: StreakID, _ sql: Transaction) async throws {
        _ = try await sql.execute("INSERT INTO mutual_streak (streak_id, friendship_id) VALUES (\(streak), \(friendship))")
    }

    /// The friendships that streaks belong to.
    static func friendships(of streaks: [StreakID], _ sql: Transaction) async throws -> [StreakID: FriendshipID] {
        guard !streaks.isEmpty else { return [:] }
        let rows = try await sql.query("SELECT streak_id, friendship_id FROM mutual_streak WHERE streak_id = ANY(\(streaks))")
        return Dictionary(try rows.map { try $0.decode(as: (StreakID.self, FriendshipID.self)) }) { first, _ in first }
    }

    /// The streaks of a friendship, ended ones too.
    static func streaks(of friendship: FriendshipID, _ sql: Transaction) async throws -> [StreakID] {
        try await sql.query("SELECT streak_id FROM mutual_streak WHERE friendship_id = \(friendship)")
            .map { try $0.decode(as: StreakID.self) }
    }

    /// Notes that a friendship is over, for starts that are on their way, and for what its streaks still hide. Starts of the two are locked.
    ///
    /// - Parameters:
    ///   - now: when it became known.
    ///   - end: when it ended.
    static func noteEnd(of friendship: FriendshipID, at now: Instant, endedAt end: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "INSERT INTO ended_friendship (friendship_id, ended_at) VALUES (\(friendship), \(now)) ON CONFLICT DO NOTHING"
        )
        _ = try await sql.execute(
            """
            UPDATE mutual_streak SET friendship_ended_at = \(end)
            WHERE friendship_id = \(friendship) AND friendship_ended_at IS NULL
            """
        )
    }

    /// When the friendship of a streak ended; nil when it has not.
    static func friendshipEnd(of streak: StreakID, _ sql: some QueryExecutor) async throws -> Instant? {
        try await sql.query("SELECT friendship_ended_at FROM mutual_streak WHERE streak_id = \(streak)").first?.decode(
            as: Instant?.self
        )
    }

    /// Whether the end of a friendship was noted.
    static func hasEnded(_ friendship: FriendshipID, _ sql: Transaction) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM ended_friendship WHERE friendship_id = \(friendship)").isEmpty
    }

    /// Deletes notes that no start can still be on its way from. - Returns: how many.
    static func purgeEnds(before limit: Instant, _ database: Database) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM ended_friendship WHERE friendship_id IN
                (SELECT friendship_id FROM ended_friendship WHERE ended_at < \(limit) ORDER BY ended_at LIMIT 1000
                 FOR UPDATE SKIP LOCKED)
            """
        )
    }

    static func refuse(_ friendship: FriendshipID, _ reason: String, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "INSERT INTO refused_start (friendship_id, reason, refused_at) VALUES (\(friendship), \(reason), \(now)) ON CONFLICT DO NOTHING"
        )
    }
}
