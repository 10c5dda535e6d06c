package import Database
package import Kernel
package import StreaksDomain

/// What operations of billing have granted, and what of it was taken back: for ever, so that no repeat grants again, however late (BI-5).
package enum GoodsGrants {
    /// What an operation granted of a good.
    package struct Grant: Sendable {
        package let good: StreakGood
        package let granted: Int32
        package let taken: Int32
        /// The operation that has taken it back; nil: none has.
        package let takenBy: OperationID?
    }

    /// Records what an operation grants.
    ///
    /// - Returns: false when it has granted this good before: then nothing is to be given again.
    package static func add(_ operation: OperationID, to user: UserID, _ good: StreakGood, _ count: Int32, _ sql: Transaction)
        async throws -> Bool
    {
        try await sql.execute(
            """
            INSERT INTO goods_grant (operation_id, user_id, good, granted)
            VALUES (\(operation), \(user), \(good.rawValue), \(count)) ON CONFLICT DO NOTHING
            """
        ) > 0
    }

    /// Locks what an operation granted a user.
    package static func lock(_ operation: OperationID, of user: UserID, _ sql: Transaction) async throws -> [Grant] {
        try await sql.query(
            """
            SELECT good, granted, taken, taken_by FROM goods_grant
            WHERE operation_id = \(operation) AND user_id = \(user) ORDER BY good FOR UPDATE
            """
        ).compactMap { row in
            let (name, granted, taken, takenBy) = try row.decode(as: (String.self, Int32.self, Int32.self, OperationID?.self))
            return StreakGood(rawValue: name).map { Grant(good: $0, granted: granted, taken: taken, takenBy: takenBy) }
        }
    }

    /// Notes what was taken back of a grant, and by what.
    package static func setTaken(
        _ count: Int32,
        of good: StreakGood,
        grantedBy grant: OperationID,
        by operation: OperationID,
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            UPDATE goods_grant SET taken = \(count), taken_by = \(operation)
            WHERE operation_id = \(grant) AND good = \(good.rawValue)
            """
        )
    }
}
