internal import AuthAPI
internal import CommonAPI
internal import Database
internal import Kernel
internal import Replicas
internal import StreaksDomain

/// A streak as one of its members finds it: everything a list shows, from one statement.
struct SeenStreak: Sendable {
    let row: StreakRow
    /// The reader's date by their own clock, and the friend's by theirs.
    let yourDate: CalendarDate
    let friendDate: CalendarDate
    /// The newest dates that the two clocks have shown: the earliest that is not over for each (SD-4).
    let yourNewest: CalendarDate
    let friendNewest: CalendarDate
    /// nil when it was not asked for, or `auth` has not told of the friend yet.
    let friend: UserSummary?

    /// The earliest date that is not over for the streak (SD-4, PH-4).
    var openFrom: CalendarDate { min(yourNewest, friendNewest) }
}

/// Which streaks are looked at.
enum StreakSelection: Sendable {
    case one(StreakID)
    /// All that run, oldest first.
    case running
    /// The one with each of these friends, or with everybody when none is named, that has not ended: a start ends what was before.
    case unended(with: [UserID])
}

/// What lists and details read, without locks.
extension StreakRepository {
    /// The streaks of a user, in one statement.
    ///
    /// - Parameter withHidden: also those with somebody whom a block hides (SO-7).
    func seen(
        _ selection: StreakSelection,
        by user: UserID,
        withFriends: Bool,
        withHidden: Bool = false,
        now: Instant
    ) async throws -> [SeenStreak] {
        let profile: Query =
            withFriends
            ? """
            , p.username, p.display_name, p.avatar_key FROM mine
            LEFT JOIN (SELECT user_id AS known, CASE WHEN status = \(AccountStatus.active.rawValue) THEN username ELSE '' END AS username,
                display_name, avatar_key FROM profile_replica) AS p ON p.known = mine.friend
            """ : " FROM mine"
        let rows = try await database.query(
            """
            WITH mine AS (SELECT s.*, CASE WHEN s.user_a = \(user) THEN s.user_b ELSE s.user_a END AS friend
                FROM (\(Self.chosen(selection, user))) AS s WHERE s.user_a = \(user) OR s.user_b = \(user))
            SELECT \(StreakRow.columns), \(Self.zone("\(user)", now)), \(Self.zone("mine.friend", now))\(profile)
            WHERE \(withHidden ? "true" : BlockReplica.isShown("mine.friend", to: user))
            ORDER BY mine.started_at, mine.id
            """
        )
        let first = StreakRow.columnCount
        var clocks = try await clocks(at: now, of: rows, user)
        return try rows.map { row in
            let streak = try StreakRow(row)
            let friend = streak.friend(of: user)
            let (yours, theirs) = (
                clocks.reading(of: user, inZone: try row.get(at: first)),
                clocks.reading(of: friend, inZone: try row.get(at: first + 1))
            )
            return SeenStreak(
                row: streak,
                yourDate: yours.date,
                friendDate: theirs.date,
                yourNewest: yours.newest,
                friendNewest: theirs.newest,
                friend: withFriends ? try summary(of: friend, row, at: first + 2) : nil
            )
        }
    }

    /// What it takes to tell everybody's dates: a second statement only for those whose zone is not in the first.
    private func clocks(at now: Instant, of rows: [Row], _ user: UserID) async throws -> Clocks {
        let first = StreakRow.columnCount
        var missing: Set<UserID> = []
        for row in rows {
            if try row.get(at: first, as: String?.self) == nil { missing.insert(user) }
            if try row.get(at: first + 1, as: String?.self) == nil { missing.insert(try StreakRow(row).friend(of: user)) }
        }
        return Clocks(now: now, others: missing.isEmpty ? [:] : try await ZoneRepository.histories(of: Array(missing), database))
    }

    /// What a clock shows at an instant, and the newest date it has shown by then.
    private struct Reading {
        let date: CalendarDate
        let newest: CalendarDate

        init(_ clock: ZoneHistory, at now: Instant) { (date, newest) = (clock.date(at: now), clock.openFrom(at: now)) }
    }

    /// Everybody's clock at an instant.
    private struct Clocks {
        private let now: Instant
        private let others: [UserID: Reading]
        private var known: [String: Reading] = [:]

        /// - Parameter others: Those whose zone alone does not tell.
        init(now: Instant, others: [UserID: ZoneHistory]) {
            (self.now, self.others) = (now, others.mapValues { Reading($0, at: now) })
        }

        mutating func reading(of person: UserID, inZone name: String?) -> Reading {
            guard let name else { return others[person] ?? Reading(ZoneHistory(.utc), at: now) }
            if let reading = known[name] { return reading }
            let reading = Reading(ZoneHistory(Zone(name) ?? .utc), at: now)
            known[name] = reading
            return reading
        }
    }

    private static func chosen(_ selection: StreakSelection, _ user: UserID) -> Query {
        switch selection {
        case .one(let id):
            return "SELECT * FROM streak WHERE id = \(id)"
        case .running:
            // Two index scans instead of one OR: each reads only the rows it returns.
            return """
                SELECT * FROM streak WHERE user_a = \(user) AND status = 1 UNION ALL
                SELECT * FROM streak WHERE user_b = \(user) AND status = 1
                """
        case .unended(let friends):
            let others = friends.filter { $0 != user }
            let isWanted: Query = friends.isEmpty ? "true" : "(s.user_a = ANY(\(others)) OR s.user_b = ANY(\(others)))"
            return """
                SELECT s.* FROM streak_member m JOIN streak s ON s.id = m.streak_id
                WHERE m.user_id = \(user) AND NOT m.is_ended AND \(isWanted)
                """
        }
    }

    /// The zone a clock follows now, when that tells all: null when it was changed so lately that the one before may have shown a newer
    /// date (two days are more than any two zones differ), and when all that is known of it comes later, as it may when an instant before
    /// a registration is asked for.
    private static func zone(_ person: Query, _ now: Instant) -> Query {
        """
        (SELECT CASE WHEN z.since <= \(now - .days(2)) OR NOT EXISTS
            (SELECT FROM zone_change e WHERE e.user_id = z.user_id AND e.since < z.since) THEN z.zone END
         FROM zone_change z WHERE z.user_id = \(person) AND z.since <= \(now) ORDER BY z.since DESC LIMIT 1)
        """
    }

    private func summary(of user: UserID, _ row: Row, at column: Int) throws -> UserSummary? {
        guard let username = try row.get(at: column, as: String?.self) else { return nil }
        // Of somebody who may not be seen no names are told.
        guard !username.isEmpty else { return .unavailable(user) }
        return UserSummary(
            userID: user.description,
            username: username,
            displayName: try row.get(at: column + 1),
            avatarURL: avatars.url(try row.get(at: column + 2))
        )
    }

    /// Who posted for which date, from a date on.
    func contributions(to streaks: [StreakID], since date: CalendarDate) async throws -> Set<PostedDate> {
        try await Self.contributions(to: streaks, since: date, database)
    }

    static func contributions(to streaks: [StreakID], since date: CalendarDate, _ sql: some QueryExecutor) async throws
        -> Set<PostedDate>
    {
        let rows = try await sql.query(
            "SELECT streak_id, user_id, on_date FROM contribution WHERE streak_id = ANY(\(streaks)) AND on_date >= \(date)"
        )
        return Set(try rows.map { PostedDate(streak: try $0.get(at: 0), user: try $0.get(at: 1), date: try $0.get(at: 2)) })
    }

    /// A condition on `streak`: the one of this id, if `user` is a member and no block hides the other member (SO-7).
    static func isSeen(_ id: StreakID, by user: UserID) -> Query {
        """
        id = \(id) AND (user_a = \(user) OR user_b = \(user))
            AND \(BlockReplica.isShown("CASE WHEN user_a = \(user) THEN user_b ELSE user_a END", to: user))
        """
    }

    /// Whether there is such a streak for `user`: they are a member, and no block hides the other one (SO-7).
    static func exists(_ id: StreakID, for user: UserID, _ sql: some QueryExecutor) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM streak WHERE \(isSeen(id, by: user))").isEmpty
    }

    /// A streak of `user`'s with its whole ledger; nil when there is none, or a block hides the other member (SO-7).
    func whole(_ id: StreakID, seenBy user: UserID) async throws -> StoredStreak? {
        let rows = try await database.query("SELECT \(StreakRow.columns) FROM streak WHERE \(Self.isSeen(id, by: user))")
        return try await Self.load(try rows.map(StreakRow.init), isWhole: true, database).first
    }

    /// Streaks with their ledgers, as they stand; `isWhole` from the start, otherwise from their checkpoints on.
    func ledgers(_ ids: some Sequence<StreakID>, isWhole: Bool = false) async throws -> [StoredStreak] {
        let rows = try await database.query("SELECT \(StreakRow.columns) FROM streak WHERE id = ANY(\(Array(Set(ids))))")
        return try await Self.load(try rows.map(StreakRow.init), isWhole: isWhole, database)
    }

    /// The ids of the running streaks of a user.
    func activeIDs(of user: UserID) async throws -> [StreakID] { try await Self.activeIDs(of: user, database) }
}

/// Somebody posted for a date.
struct PostedDate: Hashable, Sendable {
    let streak: StreakID
    let user: UserID
    let date: CalendarDate
}
