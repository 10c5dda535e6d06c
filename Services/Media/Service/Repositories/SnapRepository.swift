internal import Database
internal import Kernel
internal import MediaAPI

/// A snap on its way (D6).
struct SnapOperation: Sendable {
    var id: OperationID
    var user: UserID
    var keyHash: [UInt8]?
    var requestHash: [UInt8]
    var streaks: [StreakID]
    var caption: String?
    var promptID: String?
    var capturedAt: Instant?
    var receivedAt: Instant
    var sha256: [UInt8]
    var displayKey: String
    var thumbnailKey: String
    var width: Int32
    var height: Int32
}

/// What an operation came to.
enum SnapOutcomeState: Sendable {
    case underWay(SnapOperation)
    case done(UploadSnapReply)
    case refused
}

/// Operations and snaps.
struct SnapRepository: Sendable {
    let database: Database

    private static let columns: Query = """
        id, user_id, key_hash, request_hash, streak_ids, caption, prompt_id, captured_at, received_at, sha256, display_key, thumbnail_key,
        width, height
        """

    func insert(_ operation: SnapOperation, nextAttemptAt: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO snap_operation (\(Self.columns), next_attempt_at)
            VALUES (\(operation.id), \(operation.user), \(operation.keyHash), \(operation.requestHash), \(operation.streaks),
                \(operation.caption), \(operation.promptID), \(operation.capturedAt), \(operation.receivedAt), \(operation.sha256),
                \(operation.displayKey), \(operation.thumbnailKey), \(operation.width), \(operation.height), \(nextAttemptAt))
            """
        )
    }

    /// The operation a key stands for, with the hash of its request.
    func find(user: UserID, keyHash: [UInt8]) async throws -> (requestHash: [UInt8], state: SnapOutcomeState)? {
        let rows = try await database.query(
            "SELECT id, request_hash FROM snap_operation WHERE user_id = \(user) AND key_hash = \(keyHash)"
        )
        guard let (id, hash) = try rows.first?.decode(as: (OperationID.self, [UInt8].self)) else { return nil }
        guard let state = try await state(of: id) else { return nil }
        return (hash, state)
    }

    /// The answer of a finished operation of the same bytes for the same streaks since an instant (PH-3).
    func repeated(user: UserID, sha256: [UInt8], streaks: [StreakID], since: Instant) async throws -> UploadSnapReply? {
        let rows = try await database.query(
            """
            SELECT reply FROM snap_operation
            WHERE user_id = \(user) AND sha256 = \(sha256) AND state = 2 AND streak_ids @> \(streaks) AND received_at >= \(since)
            ORDER BY received_at DESC LIMIT 1
            """
        )
        return try rows.first.map { try UploadSnapReply(serialized: try $0.decode(as: [UInt8].self)) }
    }

    func state(of id: OperationID) async throws -> SnapOutcomeState? {
        let rows = try await database.query("SELECT state, reply, \(Self.columns) FROM snap_operation WHERE id = \(id)")
        guard let row = rows.first else { return nil }
        let state = try row.get("state", as: Int32.self)
        if state == 2, let reply = try row.get("reply", as: [UInt8]?.self) {
            return .done(try UploadSnapReply(serialized: reply))
        }
        return state == 3 ? .refused : .underWay(try Self.operation(row))
    }

    /// When the operation that has waited longest is to be taken up.
    func oldestStranded() async throws -> Instant? {
        try await database.query("SELECT min(next_attempt_at) FROM snap_operation WHERE state = 1").first?.decode(
            as: Instant?.self
        )
    }

    /// Takes up to `limit` operations that nobody drives any more; others leave them alone until `leaseUntil`.
    func takeStranded(now: Instant, leaseUntil: Instant, limit: Int) async throws -> [SnapOperation] {
        try await database.query(
            """
            UPDATE snap_operation SET next_attempt_at = \(leaseUntil) WHERE id IN
                (SELECT id FROM snap_operation WHERE state = 1 AND next_attempt_at <= \(now)
                 ORDER BY next_attempt_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING \(Self.columns)
            """
        ).map(Self.operation)
    }

    /// Ends an operation. - Returns: false when somebody else has ended it.
    func end(_ id: OperationID, state: Int32, reply: UploadSnapReply?, now: Instant, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            """
            UPDATE snap_operation SET state = \(state), reply = \(try reply?.serialized()), ended_at = \(now)
            WHERE id = \(id) AND state = 1
            """
        ) == 1
    }

    func insert(
        _ operation: SnapOperation,
        postedAt: Instant,
        isOnTime: Bool,
        dates: [(StreakID, CalendarDate)],
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO snap (id, user_id, caption, prompt_id, captured_at, posted_at, on_time, display_key, thumbnail_key, width, height)
            VALUES (\(operation.id), \(operation.user), \(operation.caption), \(operation.promptID),
                \(operation.capturedAt ?? operation.receivedAt), \(postedAt), \(isOnTime), \(operation.displayKey),
                \(operation.thumbnailKey), \(operation.width), \(operation.height))
            """
        )
        for (streak, date) in dates {
            _ = try await sql.execute(
                """
                INSERT INTO streak_snap (streak_id, on_date, user_id, snap_id)
                VALUES (\(streak), \(date), \(operation.user), \(operation.id))
                """
            )
        }
    }

    private static func operation(_ row: Row) throws -> SnapOperation {
        SnapOperation(
            id: try row.get("id", as: OperationID.self),
            user: try row.get("user_id", as: UserID.self),
            keyHash: try row.get("key_hash", as: [UInt8]?.self),
            requestHash: try row.get("request_hash", as: [UInt8].self),
            streaks: try row.get("streak_ids", as: [StreakID].self),
            caption: try row.get("caption", as: String?.self),
            promptID: try row.get("prompt_id", as: String?.self),
            capturedAt: try row.get("captured_at", as: Instant?.self),
            receivedAt: try row.get("received_at", as: Instant.self),
            sha256: try row.get("sha256", as: [UInt8].self),
            displayKey: try row.get("display_key", as: String.self),
            thumbnailKey: try row.get("thumbnail_key", as: String.self),
            width: try row.get("width", as: Int32.self),
            height: try row.get("height", as: Int32.self)
        )
    }
}
