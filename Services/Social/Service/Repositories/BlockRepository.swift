internal import Database
internal import Kernel
internal import ServiceRuntime
internal import SocialAPI

/// A block as its row stands.
struct StoredBlock: Sendable {
    let id: BlockID
    let version: Int64
    let blocker: UserID
    let blocked: UserID
    let isActive: Bool
    let changedAt: Instant

    /// The state other services keep (D13).
    var state: BlockState {
        BlockState(
            blockID: id.description,
            version: version,
            blockerID: blocker.description,
            blockedID: blocked.description,
            active: isActive,
            changedAt: changedAt
        )
    }
}

/// Who blocks whom (SO-7).
struct BlockRepository: Sendable {
    let database: Database

    private static let columns: Query = "id, version, blocker, blocked, active, changed_at"

    /// Makes `blocker` block the other. The two's friendship row is locked.
    ///
    /// - Returns: the block, and whether it is news.
    func activate(_ blocker: UserID, _ blocked: UserID, newID: BlockID, now: Instant, _ sql: Transaction) async throws
        -> (StoredBlock, isNew: Bool)
    {
        let changed = try await sql.query(
            """
            INSERT INTO block AS known (id, version, blocker, blocked, active, changed_at)
            VALUES (\(newID), 1, \(blocker), \(blocked), true, \(now))
            ON CONFLICT (blocker, blocked) DO UPDATE SET version = known.version + 1, active = true, changed_at = EXCLUDED.changed_at
            WHERE NOT known.active RETURNING \(Self.columns)
            """
        )
        if let row = changed.first { return (try Self.block(row), true) }
        let rows = try await sql.query("SELECT \(Self.columns) FROM block WHERE blocker = \(blocker) AND blocked = \(blocked)")
        guard let row = rows.first else { throw ServiceError.internal }
        return (try Self.block(row), false)
    }

    /// A block of `blocker`'s, locked; nil when there never was one of this id.
    func lock(_ id: BlockID, of blocker: UserID, _ sql: Transaction) async throws -> StoredBlock? {
        try await sql.query("SELECT \(Self.columns) FROM block WHERE id = \(id) AND blocker = \(blocker) FOR UPDATE")
            .first.map(Self.block)
    }

    /// Ends a block that is locked and active.
    func deactivate(_ id: BlockID, now: Instant, _ sql: Transaction) async throws -> StoredBlock? {
        try await sql.query(
            "UPDATE block SET version = version + 1, active = false, changed_at = \(now) WHERE id = \(id) RETURNING \(Self.columns)"
        ).first.map(Self.block)
    }

    /// Whether either blocks the other.
    func exists(between one: UserID, and two: UserID, _ sql: any QueryExecutor) async throws -> Bool {
        try await !sql.query(
            """
            SELECT 1 FROM block WHERE active AND blocker = \(one) AND blocked = \(two)
            UNION ALL SELECT 1 FROM block WHERE active AND blocker = \(two) AND blocked = \(one)
            """
        ).isEmpty
    }

    /// Those of `others` who block `user`.
    func blockers(of user: UserID, among others: [UserID], _ sql: any QueryExecutor) async throws -> Set<UserID> {
        let rows = try await sql.query(
            "SELECT blocker FROM block WHERE active AND blocked = \(user) AND blocker = ANY(\(others))"
        )
        return Set(try rows.map { try $0.decode(as: UserID.self) })
    }

    /// Whom `user` blocks, newest first.
    func list(of user: UserID, before cursor: PageCursor?, limit: Int) async throws -> [StoredBlock] {
        var position: Query = ""
        if let cursor {
            let id: BlockID = cursor.id()
            position = "AND (changed_at, id) < (\(cursor.instant), \(id))"
        }
        return try await database.query(
            """
            SELECT \(Self.columns) FROM block WHERE blocker = \(user) AND active \(position)
            ORDER BY changed_at DESC, id DESC LIMIT \(limit)
            """
        ).map(Self.block)
    }

    /// Blocks after an id, in the order of ids.
    func page(after: BlockID, limit: Int) async throws -> [StoredBlock] {
        try await database.query("SELECT \(Self.columns) FROM block WHERE id > \(after) ORDER BY id LIMIT \(limit)").map(
            Self.block
        )
    }

    private static func block(_ row: Row) throws -> StoredBlock {
        let (id, version, blocker, blocked, isActive, changedAt) = try row.decode(
            as: (BlockID.self, Int64.self, UserID.self, UserID.self, Bool.self, Instant.self)
        )
        return StoredBlock(
            id: id,
            version: version,
            blocker: blocker,
            blocked: blocked,
            isActive: isActive,
            changedAt: changedAt
        )
    }
}
