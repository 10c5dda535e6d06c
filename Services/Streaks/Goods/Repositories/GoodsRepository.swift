internal import Database
internal import Kernel
internal import StreaksAPI

/// Users' stock of goods, and the operations that changed it.
enum GoodsRepository {
    /// Adds goods, in the order of their names, so that two grants cannot wait for each other. What the operation has granted before is not
    /// added again.
    static func grant(_ operation: OperationID, to user: UserID, _ goods: [GoodCount], _ sql: Transaction) async throws {
        for good in goods.sorted(by: { $0.good < $1.good }) {
            _ = try await sql.execute(
                """
                WITH granted AS (
                    INSERT INTO goods_grant (operation_id, user_id, good, granted)
                    VALUES (\(operation), \(user), \(good.good), \(good.count)) ON CONFLICT DO NOTHING RETURNING good, granted)
                INSERT INTO goods_stock AS s (user_id, good, count) SELECT \(user)::uuid, good, granted FROM granted
                ON CONFLICT (user_id, good) DO UPDATE SET count = s.count + EXCLUDED.count
                """
            )
        }
    }

    /// What a user has of these goods.
    static func stock(of user: UserID, _ goods: [String], _ sql: some QueryExecutor) async throws -> [GoodCount] {
        try await sql.query(
            "SELECT good, count FROM goods_stock WHERE user_id = \(user) AND good = ANY(\(goods)) ORDER BY good"
        ).map { row in
            let (good, count) = try row.decode(as: (String.self, Int32.self))
            return GoodCount(good: good, count: count)
        }
    }

    /// Takes the goods of a grant back as far as there are any, once.
    ///
    /// - Returns: what was taken, and what was missing; what the operation answered first, when it comes again.
    static func takeBack(_ operation: OperationID, _ grant: OperationID, from user: UserID, _ sql: Transaction) async throws
        -> TakeBackGoodsReply
    {
        var reply = TakeBackGoodsReply()
        let grants = try await sql.query(
            """
            SELECT good, granted, taken, taken_by FROM goods_grant
            WHERE operation_id = \(grant) AND user_id = \(user) ORDER BY good FOR UPDATE
            """
        )
        for row in grants {
            let (good, granted, takenBefore, takenBy) = try row.decode(
                as: (String.self, Int32.self, Int32.self, OperationID?.self)
            )
            var taken = takenBefore
            if takenBy == nil {
                taken = min(granted, try await lockCount(of: good, user, sql))
                _ = try await sql.execute(
                    "UPDATE goods_stock SET count = count - \(taken) WHERE user_id = \(user) AND good = \(good)"
                )
                _ = try await sql.execute(
                    """
                    UPDATE goods_grant SET taken = \(taken), taken_by = \(operation) WHERE operation_id = \(grant) AND good = \(good)
                    """
                )
            }
            if taken > 0 { reply.taken.append(GoodCount(good: good, count: taken)) }
            if taken < granted { reply.missing.append(GoodCount(good: good, count: granted - taken)) }
        }
        return reply
    }

    private static func lockCount(of good: String, _ user: UserID, _ sql: Transaction) async throws -> Int32 {
        try await sql.query(
            "SELECT count FROM goods_stock WHERE user_id = \(user) AND good = \(good) FOR UPDATE"
        ).first?.decode(as: Int32.self) ?? 0
    }
}
