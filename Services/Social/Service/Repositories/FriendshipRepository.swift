internal import Database
internal import Kernel
internal import Runtime
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

    /// Requests `user` has pending, and those sent since an instant (SO-1).
    func requestCounts(of user: UserID, since: Instant, _ sql: Transaction) async throws -> (pending: Int, recent: Int) {
        let rows = try await sql.query(
            """
            SELECT count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE created_at > \(since) AND state <> 0)
            FROM friendship WHERE requester = \(user)
            """
        )
        guard let row = rows.first else { return (0, 0) }
        return try row.decode(as: (Int.self, Int.self))
    }

    /// Friendships of `user` in one state, newest first.
    func list(of user: UserID, state: Friendship.State, before cursor: PageCursor?, limit: Int) async throws -> [StoredFriendship]
    {
        let start = cursor?.instant ?? Instant(microseconds: Int64.max / 1_000_000 * 1_000)
        let startID: FriendshipID = cursor?.id() ?? FriendshipID(high: .max, low: .max)
        // Two index scans instead of one OR: each reads only the rows it returns.
        return try await database.query(
            """
            (SELECT \(Self.columns) FROM friendship
             WHERE user_low = \(user) AND state = \(state.rawValue) AND (since, id) < (\(start), \(startID))
             ORDER BY since DESC, id DESC LIMIT \(limit))
            UNION ALL
            (SELECT \(Self.columns) FROM friendship
             WHERE user_high = \(user) AND state = \(state.rawValue) AND (since, id) < (\(start), \(startID))
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
