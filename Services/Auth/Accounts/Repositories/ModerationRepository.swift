internal import Database
internal import Kernel

/// Moderation decisions that were carried out (SO-9).
enum ModerationRepository {
    /// Stores a decision. - Returns: false when it is stored already.
    static func insert(
        _ action: OperationID,
        _ kind: Int32,
        of id: UserID,
        takenAt: Instant,
        until: Instant?,
        _ sql: Transaction
    ) async throws -> Bool {
        try await sql.execute(
            """
            INSERT INTO moderation_taken (action_id, account_id, action, taken_at, until)
            VALUES (\(action), \(id), \(kind), \(takenAt), \(until)) ON CONFLICT DO NOTHING
            """
        ) == 1
    }
}
