internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// What users choose of their rewards.
enum UnlockRepository {
    /// Switches an unlock that was earned.
    static func set(_ unlock: Unlock, of user: UserID, isOff: Bool, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE unlock SET is_off = \(isOff) WHERE user_id = \(user) AND unlock = \(unlock.rawValue)"
        )
    }

    /// Chooses a flame; nil: the best that was earned.
    static func choose(_ flame: PublicRewards.Flame?, of user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO public_rewards (user_id, flame) VALUES (\(user), \(flame?.rawValue))
            ON CONFLICT (user_id) DO UPDATE SET flame = EXCLUDED.flame
            """
        )
    }

    /// The flame that a user has chosen.
    static func chosenFlame(of user: UserID, _ sql: some QueryExecutor) async throws -> PublicRewards.Flame? {
        try await sql.query("SELECT flame FROM public_rewards WHERE user_id = \(user)").first?.decode(as: String?.self)
            .flatMap(PublicRewards.Flame.init)
    }

    /// Notes that a celebration was seen. - Returns: when it was first.
    static func celebrate(_ count: Int, by user: UserID, at now: Instant, _ sql: Transaction) async throws -> Instant? {
        try await sql.query(
            """
            INSERT INTO celebration AS known (user_id, count, celebrated_at) VALUES (\(user), \(Int32(count)), \(now))
            ON CONFLICT (user_id, count) DO UPDATE SET celebrated_at = known.celebrated_at RETURNING celebrated_at
            """
        ).first?.decode(as: Instant.self)
    }

    /// A user in the Hall of Fame.
    struct Famous: Sendable {
        let user: UserID
        let since: Instant
        let longest: Int32
    }

    /// Those who reached a year, the first to reach it first, of those who have not opted out.
    static func famous(offset: Int32, limit: Int32, _ database: Database) async throws -> (entries: [Famous], total: Int32) {
        let total = try await database.query("SELECT count(*)::int FROM unlock WHERE unlock = 'hall_of_fame' AND NOT is_off")
            .first?
            .decode(as: Int32.self)
        let entries = try await database.query(famousQuery(offset: offset, limit: limit)).map { row in
            let (user, since, longest) = try row.decode(as: (UserID.self, Instant.self, Int32.self))
            return Famous(user: user, since: since, longest: longest)
        }
        return (entries, total ?? 0)
    }

    static func famousQuery(offset: Int32, limit: Int32) -> Query {
        """
        SELECT u.user_id, u.earned_at, coalesce((
            SELECT max(s.longest_count) FROM streak_member m
            JOIN streak s ON s.id = m.streak_id AND s.kind = \(StreakKind.checkIn.rawValue)
            WHERE m.user_id = u.user_id AND m.left_at IS NULL), 365)
        FROM (SELECT user_id, earned_at FROM unlock WHERE unlock = 'hall_of_fame' AND NOT is_off
            ORDER BY earned_at, user_id LIMIT \(limit) OFFSET \(offset)) AS u ORDER BY u.earned_at, u.user_id
        """
    }

    /// What a user has done for the badges.
    static func progress(of user: UserID, _ database: Database) async throws -> Badge.Progress {
        var done = Badge.Progress()
        let row = try await database.query(
            """
            SELECT coalesce(max(s.longest_count), 0), coalesce(max(s.current_count) FILTER (WHERE s.status = 1), 0),
                (SELECT count(*)::int FROM frozen_date WHERE user_id = \(user)),
                (SELECT coalesce(sum(count), 0)::int FROM acquired_freeze WHERE user_id = \(user)),
                (SELECT max(on_date) FROM frozen_date WHERE user_id = \(user)),
                max(s.last_completed_date) FILTER (WHERE s.status = 1)
            FROM streak_member m JOIN streak s ON s.id = m.streak_id AND s.kind = \(StreakKind.checkIn.rawValue)
            WHERE m.user_id = \(user) AND m.left_at IS NULL
            """
        ).first
        if let row {
            let (longest, count, used, bought, frozen, last) = try row.decode(
                as: (Int32.self, Int32.self, Int32.self, Int32.self, CalendarDate?.self, CalendarDate?.self)
            )
            (done.longest, done.freezesUsed, done.freezesBought) = (Int(longest), Int(used), Int(bought))
            // A run of so many dates has begun at most so many dates ago: a date that a freeze holds since is in it.
            let isClean = last.flatMap { last in frozen.map { $0 <= last.advanced(by: -Int(count)) } } ?? true
            done.runWithoutFreeze = isClean ? Int(count) : 0
        }
        done.longFriendStreaks =
            try await FriendReads.longFriendStreaks(of: [user], reaching: Badge.friendStreakNeeded, database)[user] ?? 0
        return done
    }
}
