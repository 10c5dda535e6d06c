internal import Database
internal import Kernel
internal import StreaksAPI

/// What friendships got when their streak was to start.
enum StartRepository {
    /// One start at a time for each of these people, so that the plan's limit holds (MS-1).
    static func lock(_ users: [UserID], _ sql: Transaction) async throws {
        for user in users.sorted() {
            try await sql.lock(named: "start \(user)")
        }
    }

    /// The answer the friendship that `one` is part of got before; nil when it has not asked. A streak that somebody started after a
    /// refusal is not it.
    static func answer(to friendship: FriendshipID, of one: UserID, _ sql: Transaction) async throws -> StartForFriendshipReply? {
        let refused = try await sql.query("SELECT reason FROM refused_start WHERE friendship_id = \(friendship)")
        if let reason = try refused.first?.decode(as: String.self) { return StartForFriendshipReply(reason: reason) }
        let started = try await sql.query(
            """
            SELECT s.id FROM streak_member m JOIN streak s ON s.id = m.streak_id
            WHERE m.user_id = \(one) AND s.friendship_id = \(friendship) ORDER BY s.started_at LIMIT 1
            """
        )
        return try started.first.map { StartForFriendshipReply(streakID: try $0.decode(as: StreakID.self).description) }
    }

    /// A streak that is looked at before a start, and its friendship.
    typealias Concerned = (id: StreakID, friendship: FriendshipID?)

    /// What is looked at before a start: streaks of the two that have not ended, and running ones of either whose date is due.
    static func concerned(_ one: UserID, _ two: UserID, now: Instant, _ sql: Transaction) async throws -> [Concerned] {
        let both = [one, two]
        return try await sql.query(
            """
            SELECT s.id, s.friendship_id FROM streak_member m JOIN streak s ON s.id = m.streak_id
            WHERE m.user_id = \(one) AND NOT m.is_ended AND s.user_a = \(min(one, two)) AND s.user_b = \(max(one, two))
            UNION SELECT id, friendship_id FROM streak WHERE user_a = ANY(\(both)) AND status = 1 AND next_due <= \(now)
            UNION SELECT id, friendship_id FROM streak WHERE user_b = ANY(\(both)) AND status = 1 AND next_due <= \(now)
            """
        ).map { try $0.decode(as: (StreakID.self, FriendshipID?.self)) }
    }

    /// Remembers that a friendship is over, for starts that are on their way. Starts of the two are locked.
    static func noteEnd(of friendship: FriendshipID, at now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "INSERT INTO ended_friendship (friendship_id, ended_at) VALUES (\(friendship), \(now)) ON CONFLICT DO NOTHING"
        )
    }

    /// Whether a friendship of these two is known to be over: its end was heard of, or a later one of theirs has had a streak. Of two
    /// friendships of a pair the later one has the greater id; `social` sees to that.
    static func isOver(_ friendship: FriendshipID, of one: UserID, _ two: UserID, _ sql: Transaction) async throws -> Bool {
        try await !sql.query(
            """
            SELECT 1 FROM ended_friendship WHERE friendship_id = \(friendship)
            UNION ALL SELECT 1 FROM streak_member m JOIN streak s ON s.id = m.streak_id
            WHERE m.user_id = \(one) AND s.user_a = \(min(one, two)) AND s.user_b = \(max(one, two))
                AND s.friendship_id > \(friendship)
            LIMIT 1
            """
        ).isEmpty
    }

    /// Forgets ends that no start can still be on its way from. - Returns: how many.
    static func forgetEnds(before limit: Instant, _ database: Database) async throws -> Int {
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
