internal import AuthAPI
internal import AuthDomain
internal import Database
internal import Kernel

/// The rows behind `AccountLife`: deletion, restoration, suspension and the end of all (AU-7, SO-9).
struct LifecycleRepository: Sendable {
    let database: Database

    /// Whether an account may be used, as it stands; nil when there is none.
    func life(of id: UserID) async throws -> AccountLife? {
        try await database.query(Self.selection(of: id)).first.map(Self.life)
    }

    /// The same, locked until the transaction ends.
    func lock(_ id: UserID, _ sql: Transaction) async throws -> AccountLife? {
        try await sql.query("\(Self.selection(of: id)) FOR UPDATE").first.map(Self.life)
    }

    /// Who signs in with this e-mail: its present owner; without one, the last who deleted an account of it (AU-7).
    func whoSignsIn(email: String) async throws -> Account? {
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

    /// Whether an account may be used; until the transaction ends nobody changes that.
    func hold(_ id: UserID, _ sql: Transaction) async throws -> AccountLife? {
        try await sql.query("\(Self.selection(of: id)) FOR SHARE").first.map(Self.life)
    }

    /// Stores the life of a locked account; the new version is what other services keep.
    ///
    /// - Parameter username: another one, for a restoration whose name is taken; nil keeps it.
    /// - Throws: `DatabaseError` unique violation when a restored account's e-mail or username belongs to somebody else by now.
    func store(_ life: AccountLife, of id: UserID, username: String? = nil, now: Instant, _ sql: Transaction) async throws
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

    /// Notes a moderation decision. - Returns: whether it is the first time it is heard of.
    func note(
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

    /// Locks up to `limit` accounts whose suspension is over; other replicas' are passed over (D7).
    func lockEndedSuspensions(now: Instant, limit: Int, _ sql: Transaction) async throws -> [UserID] {
        try await sql.query(
            """
            SELECT id FROM account WHERE suspended_until <= \(now)
            ORDER BY suspended_until LIMIT \(limit) FOR UPDATE SKIP LOCKED
            """
        ).map { try $0.decode(as: UserID.self) }
    }

    /// Locks up to `limit` deleted accounts whose time is over, with their versions.
    func lockPurgeable(now: Instant, limit: Int, _ sql: Transaction) async throws -> [(UserID, version: Int64)] {
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
