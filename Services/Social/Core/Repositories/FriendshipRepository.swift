package import Database
package import Kernel
package import ServiceRuntime
package import SocialDomain

/// A friendship with the two users it is about.
package struct StoredFriendship: Sendable {
    package let id: FriendshipID
    /// The one with the smaller id.
    package let low: UserID
    package let high: UserID
    package let createdAt: Instant
    package let friendship: Friendship

    package init(id: FriendshipID, low: UserID, high: UserID, createdAt: Instant, friendship: Friendship) {
        (self.id, self.low, self.high, self.createdAt, self.friendship) = (id, low, high, createdAt, friendship)
    }

    /// The one of the two who is not `user`.
    package func other(than user: UserID) -> UserID { user == low ? high : low }
    /// The id of the next friendship of the two: `id` if it is greater, else the next greater one, because another replica's clock was
    /// ahead. `streaks` takes the one with the greater id for the later one.
    package func laterID(_ id: FriendshipID) -> FriendshipID {
        guard id <= self.id else { return id }
        return FriendshipID(high: self.id.low == .max ? self.id.high &+ 1 : self.id.high, low: self.id.low &+ 1)
    }
    /// Whether `user` is one of the two.
    package func involves(_ user: UserID) -> Bool { user == low || user == high }
}

/// Friendships, one row a pair (SO-1 to SO-4).
package struct FriendshipRepository: Sendable {
    package let database: Database

    private static let columns: Query = "id, user_low, user_high, state, requester, created_at, since"

    /// The row of two users, locked; made when there is none, so that two first requests see each other.
    package func lock(_ one: UserID, _ two: UserID, newID: FriendshipID, now: Instant, _ sql: Transaction) async throws
        -> StoredFriendship
    {
        let (low, high) = one < two ? (one, two) : (two, one)
        try sql.enqueue(
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
    package func lock(_ id: FriendshipID, _ sql: Transaction) async throws -> StoredFriendship? {
        try await sql.query("SELECT \(Self.columns) FROM friendship WHERE id = \(id) FOR UPDATE").first.map(Self.friendship)
    }

    /// Stores the new state of the two with the next statement; a new request gets a new id.
    package func update(
        _ stored: StoredFriendship,
        to friendship: Friendship,
        id: FriendshipID,
        createdAt: Instant,
        _ sql: Transaction
    ) throws {
        try sql.enqueue(
            """
            UPDATE friendship SET id = \(id), state = \(friendship.state.rawValue), requester = \(friendship.requester),
                created_at = \(createdAt), since = \(friendship.since)
            WHERE user_low = \(stored.low) AND user_high = \(stored.high)
            """
        )
    }

    /// A friendship by id; nil when there is none.
    package func find(_ id: FriendshipID) async throws -> StoredFriendship? {
        try await database.lookup("SELECT \(Self.columns) FROM friendship WHERE id = \(id)").first.map(Self.friendship)
    }

    /// Those of these friendships that `user` is one of, by their ids.
    package func find(_ ids: [FriendshipID], of user: UserID) async throws -> [StoredFriendship] {
        guard !ids.isEmpty else { return [] }
        return try await database.lookup("SELECT \(Self.columns) FROM friendship WHERE id = ANY(\(ids))")
            .map(Self.friendship).filter { $0.involves(user) }
    }

    /// The row of two users; nil when they never had a request or friendship.
    package func find(_ one: UserID, _ two: UserID, _ sql: any QueryExecutor) async throws -> StoredFriendship? {
        try await sql.lookup(
            "SELECT \(Self.columns) FROM friendship WHERE user_low = \(min(one, two)) AND user_high = \(max(one, two))"
        ).first.map(Self.friendship)
    }

    /// The row of two users, locked; nil when they never had a request or friendship.
    package func lock(_ one: UserID, _ two: UserID, _ sql: Transaction) async throws -> StoredFriendship? {
        try await sql.query(
            """
            SELECT \(Self.columns) FROM friendship WHERE user_low = \(min(one, two)) AND user_high = \(max(one, two)) FOR UPDATE
            """
        ).first.map(Self.friendship)
    }

    /// Who sent the last request: the user whose list it is, the other, or either.
    package enum Asker: Sendable {
        case either
        case user
        case other
    }

    /// Friendships of `user` in one state, newest first.
    package func list(of user: UserID, state: Friendship.State, asker: Asker = .either, before cursor: PageCursor?, limit: Int)
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

    /// The friends of `user`, those of longest standing if there are more than `limit`.
    package func friends(of user: UserID, limit: Int) async throws -> [UserID] {
        let accepted = Friendship.State.accepted.rawValue
        return try await database.query(
            """
            SELECT friend FROM (
                (SELECT user_high AS friend, since, id FROM friendship WHERE user_low = \(user) AND state = \(accepted)
                 ORDER BY since, id LIMIT \(limit))
                UNION ALL
                (SELECT user_low AS friend, since, id FROM friendship WHERE user_high = \(user) AND state = \(accepted)
                 ORDER BY since, id LIMIT \(limit))
                ORDER BY since, id LIMIT \(limit)) AS f
            """
        ).map { try $0.decode(as: UserID.self) }
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
