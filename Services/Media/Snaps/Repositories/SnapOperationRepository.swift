internal import Database
internal import Kernel
internal import MediaAPI

/// Snaps on their way, one row per author, bytes, date and streaks.
struct SnapOperationRepository: Sendable {
    let database: Database

    private static let columns: Query = """
        id, user_id, key_hash, request_hash, content_hash, claimed_date, streak_ids, caption, prompt_id, captured_at, received_at, sha256,
        display_key, thumbnail_key, width, height
        """

    /// Records an operation whose renditions are still to be made (state 0).
    ///
    /// - Returns: false when its key or its content stands for another one already.
    func claim(_ operation: SnapOperation, until lease: Instant) async throws -> Bool {
        try await database.execute(
            """
            INSERT INTO snap_operation (\(Self.columns), state, next_attempt_at)
            VALUES (\(operation.id), \(operation.user), \(operation.keyHash), \(operation.requestHash), \(operation.contentHash),
                \(operation.claimedDate), \(operation.streaks), \(operation.caption), \(operation.promptID), \(operation.capturedAt),
                \(operation.receivedAt), \(operation.sha256), \(operation.displayKey), \(operation.thumbnailKey), \(operation.width),
                \(operation.height), 0, \(lease))
            ON CONFLICT DO NOTHING
            """
        ) == 1
    }

    /// The renditions are stored: from now on the operation is driven to its end, whatever crashes (state 1).
    ///
    /// - Returns: false when it was abandoned meanwhile.
    func begin(_ operation: SnapOperation, until lease: Instant) async throws -> Bool {
        try await database.execute(
            """
            UPDATE snap_operation SET state = 1, width = \(operation.width), height = \(operation.height), next_attempt_at = \(lease)
            WHERE id = \(operation.id) AND state = 0
            """
        ) == 1
    }

    /// Gives an operation up whose renditions were not made (state 3). - Returns: false when it is further, or given up already.
    func abandon(_ id: OperationID, now: Instant) async throws -> Bool {
        try await database.execute(
            "UPDATE snap_operation SET state = 3, key_hash = NULL, ended_at = \(now) WHERE id = \(id) AND state = 0"
        ) == 1
    }

    /// Every streak has refused (state 3): the same request may come again. - Returns: false when another has ended it.
    func refuse(_ id: OperationID, now: Instant) async throws -> Bool {
        try await database.execute(
            "UPDATE snap_operation SET state = 3, key_hash = NULL, ended_at = \(now) WHERE id = \(id) AND state = 1"
        ) == 1
    }

    /// Stores the answer (state 2). - Returns: false when another has ended it.
    func finish(_ id: OperationID, reply: UploadSnapReply, now: Instant, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            "UPDATE snap_operation SET state = 2, reply = \(try reply.serialized()), ended_at = \(now) WHERE id = \(id) AND state = 1"
        ) == 1
    }

    func find(_ id: OperationID) async throws -> StoredOperation? { try await first("id = \(id)") }

    /// What an idempotency key stands for (PF-4).
    func find(user: UserID, keyHash: [UInt8]) async throws -> StoredOperation? {
        try await first("user_id = \(user) AND key_hash = \(keyHash)")
    }

    /// The operation of the same bytes for the same date and streaks (PH-3).
    func find(user: UserID, contentHash: [UInt8]) async throws -> StoredOperation? {
        try await first("user_id = \(user) AND content_hash = \(contentHash) AND state <> 3")
    }

    /// The newest operation of the same bytes for the same date and at least these streaks.
    func find(user: UserID, sha256: [UInt8], date: CalendarDate, covering streaks: [StreakID]) async throws -> StoredOperation? {
        try await first(
            """
            user_id = \(user) AND sha256 = \(sha256) AND claimed_date = \(date) AND streak_ids @> \(streaks) AND state <> 3
            ORDER BY received_at DESC
            """
        )
    }

    /// Since when the operation that has waited longest is due.
    func oldestStranded() async throws -> Instant? {
        try await database.query("SELECT min(next_attempt_at) FROM snap_operation WHERE state IN (0, 1)").first?.decode(
            as: Instant?.self
        )
    }

    /// Locks up to `limit` operations whose request died; other replicas leave them alone until `lease`.
    func lockStranded(now: Instant, until lease: Instant, limit: Int) async throws -> [StoredOperation] {
        try await database.query(
            """
            UPDATE snap_operation SET next_attempt_at = \(lease) WHERE id IN
                (SELECT id FROM snap_operation WHERE state IN (0, 1) AND next_attempt_at <= \(now)
                 ORDER BY next_attempt_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING state, reply, next_attempt_at, \(Self.columns)
            """
        ).map(Self.stored)
    }

    /// Void operations that ended before an instant: what they may have left in the blob store is to be deleted before they are.
    func void(before limit: Instant, count: Int) async throws -> [SnapOperation] {
        try await database.query(
            "SELECT \(Self.columns) FROM snap_operation WHERE state = 3 AND received_at < \(limit) ORDER BY received_at LIMIT \(count)"
        ).map(Self.operation)
    }

    func delete(_ ids: [OperationID]) async throws {
        _ = try await database.execute("DELETE FROM snap_operation WHERE id = ANY(\(ids)) AND state = 3")
    }

    /// Deletes keys, and later operations, of finished uploads. - Returns: how many.
    func expire(keysBefore keyLimit: Instant, answersBefore answerLimit: Instant) async throws -> Int {
        let keys = try await database.execute(
            """
            UPDATE snap_operation SET key_hash = NULL WHERE id IN
                (SELECT id FROM snap_operation WHERE state = 2 AND key_hash IS NOT NULL AND received_at < \(keyLimit)
                 ORDER BY received_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
        return keys
            + (try await database.execute(
                """
                DELETE FROM snap_operation WHERE id IN
                    (SELECT id FROM snap_operation WHERE state = 2 AND received_at < \(answerLimit)
                     ORDER BY received_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
                """
            ))
    }

    private func first(_ condition: Query) async throws -> StoredOperation? {
        try await database.query(
            "SELECT state, reply, next_attempt_at, \(Self.columns) FROM snap_operation WHERE \(condition) LIMIT 1"
        ).first.map(Self.stored)
    }

    private static func stored(_ row: Row) throws -> StoredOperation {
        let standing: StoredOperation.Standing
        switch try row.get("state", as: Int32.self) {
        case 0: standing = .beingMade(until: try row.get("next_attempt_at"))
        case 1: standing = .underWay
        case 2: standing = .done(try UploadSnapReply(serialized: try row.get("reply", as: [UInt8].self)))
        default: standing = .void
        }
        return StoredOperation(operation: try operation(row), standing: standing)
    }

    private static func operation(_ row: Row) throws -> SnapOperation {
        SnapOperation(
            id: try row.get("id"),
            user: try row.get("user_id"),
            keyHash: try row.get("key_hash"),
            requestHash: try row.get("request_hash"),
            contentHash: try row.get("content_hash"),
            claimedDate: try row.get("claimed_date"),
            streaks: try row.get("streak_ids"),
            caption: try row.get("caption"),
            promptID: try row.get("prompt_id"),
            capturedAt: try row.get("captured_at"),
            receivedAt: try row.get("received_at"),
            sha256: try row.get("sha256"),
            displayKey: try row.get("display_key"),
            thumbnailKey: try row.get("thumbnail_key"),
            width: try row.get("width"),
            height: try row.get("height")
        )
    }
}
