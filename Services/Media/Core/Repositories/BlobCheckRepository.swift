package import Database
package import Kernel

/// A row and the blobs that must be there because of it.
package struct BlobClaim: Sendable {
    /// Where the next page goes on.
    package let id: OperationID
    package let keys: [String]
}

/// A table whose rows stand for blobs: a feature has one of these for each kind of blob that it stores.
package struct BlobTable: Sendable {
    /// For messages.
    package let name: String
    /// The folder of the blobs. The second segment of a key names the owner, or the owners.
    package let folder: String
    /// Whether a blob has one owner, so that it is deleted when the owner is purged.
    let hasOneOwner: Bool
    /// Which segment of a key is the row's id, without what follows a dot.
    package let idSegment: Int
    /// Of these ids, those that a row knows.
    let known: @Sendable (_ ids: [OperationID]) -> Query
    /// Columns `id, keys`: rows that need their blobs.
    let claims: @Sendable (_ condition: Query) -> Query

    /// A kind of blob.
    package init(
        name: String,
        folder: String,
        hasOneOwner: Bool,
        idSegment: Int,
        known: @escaping @Sendable (_ ids: [OperationID]) -> Query,
        claims: @escaping @Sendable (_ condition: Query) -> Query
    ) {
        self.name = name
        self.folder = folder
        self.hasOneOwner = hasOneOwner
        self.idSegment = idSegment
        self.known = known
        self.claims = claims
    }
}

/// What the tables say of the blob store.
package struct BlobCheckRepository: Sendable {
    let database: Database

    package init(database: Database) { self.database = database }

    /// Of these ids, those that a row of the table knows.
    package func known(_ ids: [OperationID], by table: BlobTable) async throws -> Set<OperationID> {
        Set(try await database.query(table.known(ids)).map { try $0.decode(as: OperationID.self) })
    }

    /// A page of rows and the blobs they need, in the order of ids.
    package func claims(of table: BlobTable, after id: OperationID, limit: Int) async throws -> [BlobClaim] {
        try await database.query("\(table.claims("id > \(id)")) ORDER BY id LIMIT \(limit)").map(Self.claim)
    }

    /// Whether a row still needs its blobs.
    package func stillClaims(_ claim: BlobClaim, of table: BlobTable) async throws -> Bool {
        try await !database.query(table.claims("id = \(claim.id)")).isEmpty
    }

    /// Of these people, those whose blobs the job has yet to bring in line, and those who are withheld.
    package func owners(_ users: [UserID]) async throws -> (changing: Set<UserID>, withheld: Set<UserID>) {
        let rows = try await database.query(
            "SELECT user_id, due_at IS NOT NULL, is_withheld AND NOT is_purged FROM photo_owner WHERE user_id = ANY(\(users))"
        ).map { try $0.decode(as: (UserID.self, Bool.self, Bool.self)) }
        return (Set(rows.filter(\.1).map(\.0)), Set(rows.filter(\.2).map(\.0)))
    }

    /// The pictures of these people that are closed, or are being opened.
    package func closedPictures(of users: [UserID]) async throws -> [String] {
        try await database.query("SELECT key FROM closed_picture WHERE user_id = ANY(\(users))").map {
            try $0.decode(as: String.self)
        }
    }

    /// People who are withheld and for whom nothing is to be done any more, in the order of ids.
    package func withheld(after user: UserID, limit: Int) async throws -> [UserID] {
        try await database.query(
            """
            SELECT user_id FROM photo_owner WHERE is_withheld AND NOT is_purged AND due_at IS NULL AND user_id > \(user)
            ORDER BY user_id LIMIT \(limit)
            """
        ).map { try $0.decode(as: UserID.self) }
    }

    /// Pairs whose photos must be hidden from each other, and those the job has yet to bring in line, each pair in both orders.
    package func hiddenPairs(of users: [UserID]) async throws -> (hidden: Set<[UserID]>, changing: Set<[UserID]>) {
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
    package func blockers(after user: UserID, limit: Int) async throws -> [UserID] {
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
