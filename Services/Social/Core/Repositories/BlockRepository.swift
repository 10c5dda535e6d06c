package import Database
package import Kernel
package import ServiceRuntime
package import SocialAPI

/// A block as it is stored.
package struct StoredBlock: Sendable {
    package let id: BlockID
    package let version: Int64
    package let blocker: UserID
    package let blocked: UserID
    package let isActive: Bool
    package let changedAt: Instant

    /// The state other services keep (D13).
    package var state: BlockState {
        BlockState(
            blockID: id,
            version: version,
            blockerID: blocker,
            blockedID: blocked,
            active: isActive,
            changedAt: changedAt
        )
    }
}

/// Who blocks whom (SO-7).
package struct BlockRepository: Sendable {
    package let database: Database

    private static let columns: Query = "id, version, blocker, blocked, active, changed_at"

    /// Makes `blocker` block the other. The two's friendship row is locked.
    ///
    /// - Returns: the block, and whether it has begun now.
    package func activate(_ blocker: UserID, _ blocked: UserID, newID: BlockID, now: Instant, _ sql: Transaction) async throws
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

    /// A block of this blocker, locked; nil when there is none with this id.
    package func lock(_ id: BlockID, of blocker: UserID, _ sql: Transaction) async throws -> StoredBlock? {
        try await sql.query("SELECT \(Self.columns) FROM block WHERE id = \(id) AND blocker = \(blocker) FOR UPDATE")
            .first.map(Self.block)
    }

    /// Ends a block that is locked and active.
    package func deactivate(_ id: BlockID, now: Instant, _ sql: Transaction) async throws -> StoredBlock? {
        try await sql.query(
            "UPDATE block SET version = version + 1, active = false, changed_at = \(now) WHERE id = \(id) RETURNING \(Self.columns)"
        ).first.map(Self.block)
    }

    /// Whether either blocks the other.
    package func exists(between one: UserID, and two: UserID, _ sql: any QueryExecutor) async throws -> Bool {
        try await !sql.lookup(
            """
            SELECT 1 FROM block WHERE active AND blocker = \(one) AND blocked = \(two)
            UNION ALL SELECT 1 FROM block WHERE active AND blocker = \(two) AND blocked = \(one)
            """
        ).isEmpty
    }

    /// Those of `others` who block `user`.
    package func blockers(of user: UserID, among others: [UserID], _ sql: any QueryExecutor) async throws -> Set<UserID> {
        let rows = try await sql.lookup(
            "SELECT blocker FROM block WHERE active AND blocked = \(user) AND blocker = ANY(\(others))"
        )
        return Set(try rows.map { try $0.decode(as: UserID.self) })
    }

    /// The blocks of a user, newest first.
    package func list(of user: UserID, before cursor: PageCursor?, limit: Int) async throws -> [StoredBlock] {
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
    package func page(after: BlockID, limit: Int) async throws -> [StoredBlock] {
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
