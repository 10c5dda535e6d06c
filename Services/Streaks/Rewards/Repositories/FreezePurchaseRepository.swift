internal import Database
internal import Kernel

/// Freezes that a user has bought with one operation.
struct FreezePurchase: Sendable {
    let id: OperationID
    let user: UserID
    let count: Int32
    let at: Instant
}

/// What users have bought in freezes, each operation once.
enum FreezePurchaseRepository {
    /// Notes purchases. - Returns: how many freezes each of their users has bought so far.
    static func add(_ purchases: [FreezePurchase], _ sql: Transaction) async throws -> [UserID: Int] {
        for purchase in purchases {
            _ = try await sql.execute(
                """
                INSERT INTO acquired_freeze (operation_id, user_id, count, bought_at)
                VALUES (\(purchase.id), \(purchase.user), \(purchase.count), \(purchase.at)) ON CONFLICT DO NOTHING
                """
            )
        }
        let rows = try await sql.query(
            "SELECT user_id, sum(count)::int FROM acquired_freeze WHERE user_id = ANY(\(purchases.map(\.user))) GROUP BY user_id"
        ).map { try $0.decode(as: (UserID.self, Int32.self)) }
        return Dictionary(rows.map { ($0.0, Int($0.1)) }) { first, _ in first }
    }
}
