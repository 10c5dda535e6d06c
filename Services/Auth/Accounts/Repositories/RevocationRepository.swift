internal import Database
internal import Kernel

/// Sessions in the order in which they were ended.
struct RevocationRepository: Sendable {
    static let pageSize = 1_000

    let database: Database

    /// Up to `pageSize` sessions that were ended after an instant, or at it with a greater id than `after`.
    func page(since: Instant, after: SessionID?) async throws -> [(session: SessionID, account: UserID, at: Instant)] {
        let after = after ?? SessionID("ffffffff-ffff-ffff-ffff-ffffffffffff")
        let rows = try await database.query(
            """
            SELECT id, account_id, revoked_at FROM session
            WHERE revoked_at IS NOT NULL AND (revoked_at, id) > (\(since), \(after))
            ORDER BY revoked_at, id LIMIT \(Self.pageSize)
            """
        )
        return try rows.map { try $0.decode(as: (SessionID.self, UserID.self, Instant.self)) }
    }
}
