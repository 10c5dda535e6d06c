internal import Database
internal import Kernel
internal import Tokens

/// Sessions that were ended, and whether the gateways' stream has them.
struct RevocationRepository: Sendable {
    static let pageSize = 1_000

    let database: Database

    /// Up to `pageSize` sessions that were ended after an instant, or at it with a greater id than `after`, in the order in which they were
    /// ended.
    func page(since: Instant, after: SessionID?) async throws -> [Revocation] {
        let after = after ?? SessionID("ffffffff-ffff-ffff-ffff-ffffffffffff")
        return try await database.query(
            """
            SELECT id, revoked_at FROM session
            WHERE revoked_at IS NOT NULL AND (revoked_at, id) > (\(since), \(after))
            ORDER BY revoked_at, id LIMIT \(Self.pageSize)
            """
        ).map(Self.revocation)
    }

    /// Up to `pageSize` ended sessions of an account that the stream may not have.
    func unpublished(of account: UserID) async throws -> [Revocation] {
        try await database.query(
            """
            SELECT id, revoked_at FROM session
            WHERE account_id = \(account) AND revoked_at IS NOT NULL AND NOT revocation_published
            LIMIT \(Self.pageSize)
            """
        ).map(Self.revocation)
    }

    /// Up to `pageSize` ended sessions that the stream may not have.
    func unpublished() async throws -> [Revocation] {
        try await database.query(
            """
            SELECT id, revoked_at FROM session
            WHERE revoked_at IS NOT NULL AND NOT revocation_published
            ORDER BY account_id LIMIT \(Self.pageSize)
            """
        ).map(Self.revocation)
    }

    /// The stream has these.
    func markPublished(_ sessions: [SessionID]) async throws {
        _ = try await database.execute(
            "UPDATE session SET revocation_published = true WHERE id = ANY(\(sessions)) AND NOT revocation_published"
        )
    }

    private static func revocation(_ row: Row) throws -> Revocation {
        let (session, revokedAt) = try row.decode(as: (SessionID.self, Instant.self))
        return Revocation(session: session, revokedAt: revokedAt)
    }
}
