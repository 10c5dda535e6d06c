internal import Database
internal import Kernel
internal import ServiceRuntime
internal import SocialDomain

/// A friendship with the two it is about.
struct StoredFriendship: Sendable {
    let id: FriendshipID
    let low: UserID
    let high: UserID
    let createdAt: Instant
    let friendship: Friendship

    /// The one of the two who is not `user`.
    func other(than user: UserID) -> UserID { user == low ? high : low }
    /// The id of the two's next friendship: `id` unless that is not greater, because another replica's clock was ahead. `streaks` takes the
    /// one with the greater id for the later one.
    func laterID(_ id: FriendshipID) -> FriendshipID {
        guard id <= self.id else { return id }
        return FriendshipID(high: self.id.low == .max ? self.id.high &+ 1 : self.id.high, low: self.id.low &+ 1)
    }
    /// Whether `user` is one of the two.
    func involves(_ user: UserID) -> Bool { user == low || user == high }
}

/// Friendships, one row a pair.
struct FriendshipRepository: Sendable {
    let database: Database

    private static let columns: Query = "id, user_low, user_high, state, requester, created_at, since"

    /// The row of two people, locked; made when there is none, so that two first requests see each other.
    func lock(_ one: UserID, _ two: UserID, newID: FriendshipID, now: Instant, _ sql: Transaction) async throws
        -> StoredFriendship
    {
        let (low, high) = one < two ? (one, two) : (two, one)
        _ = try await sql.execute(
            """
            INSERT INTO friendship (user_low, user_high, id, state, requester, created_at, since)
            VALUES (\(low), \(high), \(newID), 0, \(one), \(now), \(now)) ON CONFLICT DO NOTHING
            """
        )
        let rows = try await sql.query(
            "SELECT \(Self.columns) FROM friendship WHERE user_low = \(low) AND user_high = \(high) FOR UPDATE"
        )
        guard let row = rows.first else { throw ServiceError.notFound("friendship") }
        return try Self.friendship(row)
    }

    /// A friendship by id, locked; nil when there is none.
    func lock(_ id: FriendshipID, _ sql: Transaction) async throws -> StoredFriendship? {
        try await sql.query("SELECT \(Self.columns) FROM friendship WHERE id = \(id) FOR UPDATE").first.map(Self.friendship)
    }

    /// Stores where the two stand now; a new request gets a new id.
    func update(_ stored: StoredFriendship, to friendship: Friendship, id: FriendshipID, createdAt: Instant, _ sql: Transaction)
        async throws
    {
        _ = try await sql.execute(
            """
            UPDATE friendship SET id = \(id), state = \(friendship.state.rawValue), requester = \(friendship.requester),
                created_at = \(createdAt), since = \(friendship.since)
            WHERE user_low = \(stored.low) AND user_high = \(stored.high)
            """
        )
    }

    /// A friendship by id; nil when there is none.
    func find(_ id: FriendshipID) async throws -> StoredFriendship? {
        try await database.query("SELECT \(Self.columns) FROM friendship WHERE id = \(id)").first.map(Self.friendship)
    }

    /// The row of two people; nil when they never had to do with each other.
    func find(_ one: UserID, _ two: UserID, _ sql: any QueryExecutor) async throws -> StoredFriendship? {
        try await sql.query(
            "SELECT \(Self.columns) FROM friendship WHERE user_low = \(min(one, two)) AND user_high = \(max(one, two))"
        ).first.map(Self.friendship)
    }

    /// The row of two people, locked; nil when they never had to do with each other.
    func lock(_ one: UserID, _ two: UserID, _ sql: Transaction) async throws -> StoredFriendship? {
        try await sql.query(
            """
            SELECT \(Self.columns) FROM friendship WHERE user_low = \(min(one, two)) AND user_high = \(max(one, two)) FOR UPDATE
            """
        ).first.map(Self.friendship)
    }

    /// One request at a time for each sender, so that the limits hold across replicas (SO-1). Before any pair is locked.
    func lockSender(_ user: UserID, _ sql: Transaction) async throws {
        try await sql.lock(named: "sender \(user)")
    }

    /// Requests `user` has pending, and when they sent new ones since an instant, oldest first (SO-1). The sender is locked.
    func requestCounts(of user: UserID, since: Instant, _ sql: Transaction) async throws -> (pending: Int, sent: [Instant]) {
        let pending = try await sql.query("SELECT count(*) FROM friendship WHERE requester = \(user) AND state = 1")
        let sent = try await sql.query(
            "SELECT sent_at FROM sent_request WHERE sender = \(user) AND sent_at > \(since) ORDER BY sent_at LIMIT 1000"
        )
        return (try pending.first?.decode(as: Int.self) ?? 0, try sent.map { try $0.decode(as: Instant.self) })
    }

    /// Remembers that a new request was sent (SO-1).
    func noteSent(_ id: FriendshipID, by user: UserID, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute("INSERT INTO sent_request (friendship_id, sender, sent_at) VALUES (\(id), \(user), \(now))")
    }

    /// Forgets what no limit asks about any more, up to 1,000. - Returns: how many.
    func forgetSent(before limit: Instant) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM sent_request WHERE friendship_id IN
                (SELECT friendship_id FROM sent_request WHERE sent_at < \(limit) ORDER BY sent_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }

    /// Who asked: one of the two, or either.
    enum Asker: Sendable {
        case either
        case user
        case other
    }

    /// Friendships of `user` in one state, newest first.
    func list(of user: UserID, state: Friendship.State, asker: Asker = .either, before cursor: PageCursor?, limit: Int)
        async throws
        -> [StoredFriendship]
    {
        let start = cursor?.instant ?? Instant(microseconds: Int64.max / 1_000_000 * 1_000)
        let startID: FriendshipID = cursor?.id() ?? FriendshipID(high: .max, low: .max)
        let side: Query =
            switch asker {
            case .either: ""
            case .user: "AND requester = \(user)"
            case .other: "AND requester <> \(user)"
            }
        // Two index scans instead of one OR: each reads only the rows it returns.
        return try await database.query(
            """
            (SELECT \(Self.columns) FROM friendship
             WHERE user_low = \(user) AND state = \(state.rawValue) AND (since, id) < (\(start), \(startID)) \(side)
             ORDER BY since DESC, id DESC LIMIT \(limit))
            UNION ALL
            (SELECT \(Self.columns) FROM friendship
             WHERE user_high = \(user) AND state = \(state.rawValue) AND (since, id) < (\(start), \(startID)) \(side)
             ORDER BY since DESC, id DESC LIMIT \(limit))
            ORDER BY since DESC, id DESC LIMIT \(limit)
            """
        ).map(Self.friendship)
    }

    private static func friendship(_ row: Row) throws -> StoredFriendship {
        let (id, low, high, state, requester, createdAt, since) = try row.decode(
            as: (FriendshipID.self, UserID.self, UserID.self, Int32.self, UserID.self, Instant.self, Instant.self)
        )
        return StoredFriendship(
            id: id,
            low: low,
            high: high,
            createdAt: createdAt,
            friendship: Friendship(state: Friendship.State(rawValue: state) ?? .strangers, requester: requester, since: since)
        )
    }
}
