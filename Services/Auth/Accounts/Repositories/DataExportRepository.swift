internal import BlobStore
internal import Database
internal import Kernel

/// An export of personal data that is too large for a reply.
struct DataExport: Sendable {
    enum State: Sendable {
        case preparing
        case ready(BlobKey)
        case beingDeleted
    }

    let user: UserID
    let requestedAt: Instant
    let state: State
}

/// An export that a replica makes now.
struct DataExportTurn: Sendable {
    let user: UserID
    /// Of this attempt: a replica that lost its lease writes another file.
    let attempt: OperationID

    /// The second segment names the owner: of a deleted account nothing is served.
    var key: BlobKey { get throws { try BlobKey("exports/\(user)/\(attempt).json") } }
}

/// Exports of personal data that are made in the background (AU-10): asked for, made, kept for a week, deleted.
struct DataExportRepository: Sendable {
    /// How long a file is kept.
    static let kept = Interval.days(7)

    let database: Database

    /// The export of a user; nil when none was asked for or the last one is deleted.
    func find(_ user: UserID) async throws -> DataExport? {
        try await database.query(Self.selection(of: user)).first.map(Self.export)
    }

    /// Asks for an export unless one is asked for already. - Returns: that one.
    func request(_ user: UserID, now: Instant) async throws -> DataExport {
        _ = try await database.execute(
            "INSERT INTO data_export (user_id, requested_at) VALUES (\(user), \(now)) ON CONFLICT DO NOTHING"
        )
        return try await find(user) ?? DataExport(user: user, requestedAt: now, state: .preparing)
    }

    /// Leases the export that has waited longest, for 15 s by the machine's clock; other replicas leave it alone until then.
    func lease(_ attempt: OperationID) async throws -> DataExportTurn? {
        try await database.query(
            """
            UPDATE data_export SET attempt = \(attempt), lease_until = clock_timestamp() + interval '15 seconds' WHERE user_id =
                (SELECT user_id FROM data_export WHERE state = 0 AND lease_until <= clock_timestamp()
                 ORDER BY lease_until LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING user_id
            """
        ).first.map { DataExportTurn(user: try $0.decode(as: UserID.self), attempt: attempt) }
    }

    /// Prolongs the lease. - Returns: whether the export is still this replica's to make.
    func prolong(_ turn: DataExportTurn) async throws -> Bool {
        try await database.execute(
            """
            UPDATE data_export SET lease_until = clock_timestamp() + interval '15 seconds'
            WHERE user_id = \(turn.user) AND attempt = \(turn.attempt) AND state = 0
            """
        ) == 1
    }

    /// Gives an export back after a failure; it is tried again in 5 s.
    func postpone(_ turn: DataExportTurn) async throws {
        _ = try await database.execute(
            """
            UPDATE data_export SET lease_until = clock_timestamp() + interval '5 seconds'
            WHERE user_id = \(turn.user) AND attempt = \(turn.attempt) AND state = 0
            """
        )
    }

    /// Notes that the file is there, and ends the lease. - Returns: whether it was still wanted from this replica.
    static func finish(_ turn: DataExportTurn, now: Instant, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            """
            UPDATE data_export SET state = 1, delete_at = \(now + kept), blob_key = \(try turn.key.description), lease_until = '-infinity'
            WHERE user_id = \(turn.user) AND attempt = \(turn.attempt) AND state = 0
            """
        ) == 1
    }

    /// Withdraws the export of a user who is erased; the job deletes the files and the row.
    static func withdraw(_ user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE data_export SET state = 2 WHERE user_id = \(user)")
    }

    /// Users whose files are to be deleted: from now on they are not handed out. Not while a replica may still write one.
    func leaseDeletable(now: Instant, limit: Int) async throws -> [UserID] {
        try await database.query(
            """
            UPDATE data_export SET state = 2, lease_until = clock_timestamp() + interval '30 seconds' WHERE user_id IN
                (SELECT user_id FROM data_export
                 WHERE (state = 1 AND delete_at <= \(now) OR state = 2) AND lease_until <= clock_timestamp()
                 LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING user_id
            """
        ).map { try $0.decode(as: UserID.self) }
    }

    /// Deletes the row of files that are deleted.
    func delete(_ user: UserID) async throws {
        _ = try await database.execute("DELETE FROM data_export WHERE user_id = \(user) AND state = 2")
    }

    private static func selection(of user: UserID) -> Query {
        "SELECT user_id, requested_at, state, blob_key FROM data_export WHERE user_id = \(user)"
    }

    private static func export(_ row: Row) throws -> DataExport {
        let (user, requestedAt, number, key) = try row.decode(as: (UserID.self, Instant.self, Int32.self, String?.self))
        let state: DataExport.State
        switch (number, key) {
        case (0, _): state = .preparing
        case (1, let key?): state = .ready(try BlobKey(key))
        default: state = .beingDeleted
        }
        return DataExport(user: user, requestedAt: requestedAt, state: state)
    }
}
