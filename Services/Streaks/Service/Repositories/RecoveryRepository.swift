internal import Database
internal import Kernel
internal import StreaksDomain

/// The recovery tokens in the ledgers (RC-2, RC-3).
enum RecoveryRepository {
    static func find(_ streaks: [StreakID], _ sql: some QueryExecutor) async throws -> [StreakID: [StreakLedger.Recovery]] {
        let rows = try await sql.query(
            """
            SELECT streak_id, user_id, used_at, from_date, through_date, returned_at FROM streak_recovery
            WHERE streak_id = ANY(\(streaks)) ORDER BY used_at
            """
        )
        var found: [StreakID: [StreakLedger.Recovery]] = [:]
        for row in rows {
            let recovery = StreakLedger.Recovery(
                kind: .token,
                user: try row.get(at: 1),
                at: try row.get(at: 2),
                from: try row.get(at: 3),
                through: try row.get(at: 4),
                returnedAt: try row.get(at: 5)
            )
            found[try row.get(at: 0), default: []].append(recovery)
        }
        return found
    }

    static func insert(
        _ recovery: StreakLedger.Recovery,
        to streak: StreakID,
        operation: OperationID,
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO streak_recovery (streak_id, used_at, user_id, from_date, through_date, operation_id)
            VALUES (\(streak), \(recovery.at), \(recovery.user), \(recovery.from), \(recovery.through), \(operation))
            """
        )
    }

    /// A token used at this instant was not needed. - Returns: the operation it was spent by.
    static func markReturned(_ streak: StreakID, usedAt: Instant, at now: Instant, _ sql: Transaction) async throws
        -> OperationID
    {
        let rows = try await sql.query(
            """
            UPDATE streak_recovery SET returned_at = \(now)
            WHERE streak_id = \(streak) AND used_at = \(usedAt) AND returned_at IS NULL RETURNING operation_id
            """
        )
        guard let operation = try rows.first?.decode(as: OperationID.self) else { throw ServiceError.internal }
        return operation
    }
}
