internal import AuthAPI
package import AuthDomain
package import Database
package import Kernel

/// The rows behind `AccountLife`: deletion, restoration, suspension and the purge (AU-7, SO-9).
package struct LifecycleRepository: Sendable {
    let database: Database

    /// Whether an account may be used, locked until the transaction ends; nil when there is none.
    package func lock(_ id: UserID, _ sql: Transaction) async throws -> AccountLife? {
        try await sql.query("\(Self.selection(of: id)) FOR UPDATE").first.map(Self.life)
    }

    /// Whether an account may be used, as it is at this moment; nil when there is none.
    package func find(_ id: UserID) async throws -> AccountLife? {
        try await database.query(Self.selection(of: id)).first.map(Self.life)
    }

    /// The account that an e-mail signs in to: its present owner's; without one, the account with it that was deleted last (AU-7).
    package func accountToSignIn(email: String) async throws -> Account? {
        let key = AccountRepository.key(ofEmail: email)
        // Two scans of two partial indexes; one condition for both would use neither.
        let found = try await database.query(
            """
            (SELECT \(AccountRepository.columns) FROM account WHERE email_key = \(key) AND deleted_at IS NULL)
            UNION ALL
            (SELECT \(AccountRepository.columns) FROM account WHERE email_key = \(key) AND deleted_at IS NOT NULL
             ORDER BY deleted_at DESC LIMIT 1)
            """
        ).map(AccountRepository.account)
        return found.first { $0.status != .deleted } ?? found.first
    }

    /// Whether an account may be used, locked against changes until the transaction ends; nil when there is none.
    package func lockShared(_ id: UserID, _ sql: Transaction) async throws -> AccountLife? {
        try await sql.query("\(Self.selection(of: id)) FOR SHARE").first.map(Self.life)
    }

    /// - Throws: `ACCOUNT_SCHEDULED_FOR_DELETION` for a deleted account.
    package func requireNotDeleted(_ id: UserID, _ sql: Transaction) async throws {
        guard let life = try await lockShared(id, sql), life.status == .deleted, let refusal = life.refusal else { return }
        throw refusal
    }

    /// Stores the life of a locked account; the new version is what other services keep.
    ///
    /// - Parameter username: another one, for a restoration whose name is taken; nil keeps it.
    /// - Throws: `DatabaseError` unique violation when a restored account's e-mail or username belongs to another account by now.
    package func store(_ life: AccountLife, of id: UserID, username: String? = nil, now: Instant, _ sql: Transaction) async throws
        -> Account
    {
        let rows = try await sql.query(
            """
            UPDATE account SET status = \(life.status.rawValue), suspended_until = \(life.suspendedUntil),
                banned_at = \(life.bannedAt), deleted_at = \(life.deletedAt), purge_at = \(life.purgeAt),
                username = coalesce(\(username), username), version = version + 1, updated_at = \(now)
            WHERE id = \(id) RETURNING \(AccountRepository.columns)
            """
        )
        guard let row = rows.first else { throw ServiceError.notFound("account") }
        return try AccountRepository.account(row)
    }

    /// Locks up to `limit` accounts whose suspension is over; those that another replica has locked are left out (D7).
    package func lockEndedSuspensions(now: Instant, limit: Int, _ sql: Transaction) async throws -> [UserID] {
        try await sql.query(
            """
            SELECT id FROM account WHERE suspended_until <= \(now)
            ORDER BY suspended_until LIMIT \(limit) FOR UPDATE SKIP LOCKED
            """
        ).map { try $0.decode(as: UserID.self) }
    }

    /// Locks up to `limit` deleted accounts whose time is over, with their versions.
    package func lockPurgeable(now: Instant, limit: Int, _ sql: Transaction) async throws -> [(UserID, version: Int64)] {
        try await sql.query(
            """
            SELECT id, version FROM account WHERE purge_at <= \(now) ORDER BY purge_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
            """
        ).map { try $0.decode(as: (UserID.self, Int64.self)) }
    }

    private static func selection(of id: UserID) -> Query {
        "SELECT suspended_until, banned_at, deleted_at FROM account WHERE id = \(id)"
    }

    private static func life(_ row: Row) throws -> AccountLife {
        let (suspendedUntil, bannedAt, deletedAt) = try row.decode(as: (Instant?.self, Instant?.self, Instant?.self))
        return AccountLife(suspendedUntil: suspendedUntil, bannedAt: bannedAt, deletedAt: deletedAt)
    }
}
