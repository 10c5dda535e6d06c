internal import BlobStore
internal import Database
internal import Kernel

/// A row and the blobs that must be there because of it.
struct BlobClaim: Sendable {
    /// Where the next page goes on.
    let id: OperationID
    let keys: [String]
}

/// A table whose rows stand for blobs: one of these for each kind of blob there is.
struct BlobTable: Sendable {
    /// For messages.
    let name: String
    /// The folder of the blobs.
    let folder: String
    /// Which segment of a key is the row's id, without what follows a dot.
    let idSegment: Int
    /// Of these ids, those that a row knows.
    let known: @Sendable (_ ids: [OperationID]) -> Query
    /// Columns `id, keys`: rows that need their blobs.
    let claims: @Sendable (_ condition: Query) -> Query

    static let all: [BlobTable] = [snaps, avatars, cards]

    /// An operation knows its renditions from before they are made until they are deleted; a snap from then on.
    private static let snaps = BlobTable(
        name: "snap",
        folder: "snaps",
        idSegment: 3,
        known: { ids in
            "SELECT id FROM snap WHERE id = ANY(\(ids)) UNION SELECT id FROM snap_operation WHERE id = ANY(\(ids))"
        },
        claims: { condition in
            """
            SELECT id, ARRAY[display_key, thumbnail_key] FROM (
                SELECT id, display_key, thumbnail_key FROM snap UNION
                SELECT id, display_key, thumbnail_key FROM snap_operation WHERE state = 1) AS needed WHERE \(condition)
            """
        }
    )

    private static let avatars = BlobTable(
        name: "avatar",
        folder: "avatars",
        idSegment: 2,
        known: { ids in "SELECT id FROM avatar WHERE id = ANY(\(ids))" },
        claims: { condition in
            """
            SELECT id, ARRAY[concat('avatars/', user_id, '/', id, '/512.jpg'), concat('avatars/', user_id, '/', id, '/128.jpg')]
            FROM avatar WHERE state = 1 AND \(condition)
            """
        }
    )

    private static let cards = BlobTable(
        name: "milestone_card",
        folder: "cards",
        idSegment: 2,
        known: { ids in "SELECT id FROM milestone_card WHERE id = ANY(\(ids))" },
        claims: { condition in "SELECT id, ARRAY[blob_key] FROM milestone_card WHERE state = 1 AND \(condition)" }
    )
}

/// What the tables say of the blob store.
struct BlobCheckRepository: Sendable {
    let database: Database

    /// Of these ids, those that a row of the table knows.
    func known(_ ids: [OperationID], by table: BlobTable) async throws -> Set<OperationID> {
        Set(try await database.query(table.known(ids)).map { try $0.decode(as: OperationID.self) })
    }

    /// A page of rows and the blobs they need, in the order of ids.
    func claims(of table: BlobTable, after id: OperationID, limit: Int) async throws -> [BlobClaim] {
        try await database.query("\(table.claims("id > \(id)")) ORDER BY id LIMIT \(limit)").map(Self.claim)
    }

    /// Whether a row still needs its blobs.
    func stillClaims(_ claim: BlobClaim, of table: BlobTable) async throws -> Bool {
        try await !database.query(table.claims("id = \(claim.id)")).isEmpty
    }

    /// Of these people, those whose blobs the job has yet to bring in line, and those who are withheld.
    func owners(_ users: [UserID]) async throws -> (changing: Set<UserID>, withheld: Set<UserID>) {
        let rows = try await database.query(
            "SELECT user_id, due_at IS NOT NULL, is_withheld AND NOT is_purged FROM photo_owner WHERE user_id = ANY(\(users))"
        ).map { try $0.decode(as: (UserID.self, Bool.self, Bool.self)) }
        return (Set(rows.filter(\.1).map(\.0)), Set(rows.filter(\.2).map(\.0)))
    }

    /// People who are withheld and for whom nothing is to be done any more, in the order of ids.
    func withheld(after user: UserID, limit: Int) async throws -> [UserID] {
        try await database.query(
            """
            SELECT user_id FROM photo_owner WHERE is_withheld AND NOT is_purged AND due_at IS NULL AND user_id > \(user)
            ORDER BY user_id LIMIT \(limit)
            """
        ).map { try $0.decode(as: UserID.self) }
    }

    /// Pairs whose photos must be hidden from each other, and those the job has yet to bring in line, each pair in both orders.
    func hiddenPairs(of users: [UserID]) async throws -> (hidden: Set<[UserID]>, changing: Set<[UserID]>) {
        let rows = try await database.query(
            """
            SELECT blocker, blocked, true FROM block_replica WHERE active AND (blocker = ANY(\(users)) OR blocked = ANY(\(users)))
            UNION ALL SELECT one, other, false FROM hidden_pair WHERE one = ANY(\(users)) OR other = ANY(\(users))
            """
        ).map { try $0.decode(as: (UserID.self, UserID.self, Bool.self)) }
        func pairs(_ isHidden: Bool) -> Set<[UserID]> {
            Set(rows.filter { $0.2 == isHidden }.flatMap { [[$0.0, $0.1], [$0.1, $0.0]] })
        }
        return (pairs(true), pairs(false))
    }

    /// Users who block another, in the order of ids.
    func blockers(after user: UserID, limit: Int) async throws -> [UserID] {
        try await database.query(
            """
            SELECT DISTINCT blocker FROM block_replica WHERE active AND blocker <> blocked AND blocker > \(user)
            ORDER BY blocker LIMIT \(limit)
            """
        ).map { try $0.decode(as: UserID.self) }
    }

    private static func claim(_ row: Row) throws -> BlobClaim {
        let (id, keys) = try row.decode(as: (OperationID.self, [String].self))
        return BlobClaim(id: id, keys: keys)
    }
}
