internal import Database
internal import Kernel
internal import StreaksAPI

/// The answers operations got (D6).
enum OperationRepository {
    /// Takes an operation for this transaction; a concurrent repeat waits for its end.
    ///
    /// - Returns: the answer it got before; nil when this is the first time.
    static func claim(_ id: OperationID, user: UserID, now: Instant, _ sql: Transaction) async throws -> RecordContributionReply?
    {
        let isFirst = try await sql.execute(
            """
            INSERT INTO contribution_operation (operation_id, user_id, recorded_at) VALUES (\(id), \(user), \(now))
            ON CONFLICT DO NOTHING
            """
        )
        if isFirst == 1 { return nil }
        let rows = try await sql.query("SELECT user_id, reply FROM contribution_operation WHERE operation_id = \(id)")
        guard let (owner, reply) = try rows.first?.decode(as: (UserID.self, [UInt8]?.self)), let reply, owner == user else {
            throw ServiceError(.aborted, "OPERATION_CONFLICT", "This operation belongs to another request.")
        }
        return try RecordContributionReply(serialized: reply)
    }

    static func store(_ reply: RecordContributionReply, of id: OperationID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE contribution_operation SET reply = \(try reply.serialized()) WHERE operation_id = \(id)"
        )
    }

    /// Forgets answers nobody will ask for again. - Returns: how many.
    static func purge(before limit: Instant, _ database: Database) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM contribution_operation WHERE operation_id IN
                (SELECT operation_id FROM contribution_operation WHERE recorded_at < \(limit) LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }
}
