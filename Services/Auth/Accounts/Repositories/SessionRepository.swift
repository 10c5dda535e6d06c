internal import AuthAPI
internal import AuthDomain
internal import Database
internal import Kernel

/// Sessions and their families of refresh tokens.
struct SessionRepository: Sendable {
    let database: Database

    /// A session with its first refresh token.
    ///
    /// - Parameter expiresAt: when it ends unless it is used.
    func insert(_ id: SessionID, account: UserID, tokenHash: [UInt8], now: Instant, expiresAt: Instant, _ sql: Transaction)
        async throws
    {
        _ = try await sql.execute(
            """
            INSERT INTO session (id, account_id, created_at, expires_at) VALUES (\(id), \(account), \(now), \(expiresAt))
            """
        )
        _ = try await sql.execute(
            """
            INSERT INTO refresh_token (token_hash, session_id, generation, expires_at)
            VALUES (\(tokenHash), \(id), 0, \(expiresAt))
            """
        )
    }

    /// A presented token and its session, locked until the transaction ends; nil for a token that was never issued.
    func lock(tokenHash: [UInt8], _ sql: Transaction) async throws -> (SessionID, UserID, RefreshFamily.Presented)? {
        // The session is locked, not the token: two uses of two tokens of one family must see each other.
        let rows = try await sql.query(
            """
            SELECT s.id, s.account_id
            FROM session s JOIN refresh_token t ON t.session_id = s.id
            WHERE s.id = (SELECT session_id FROM refresh_token WHERE token_hash = \(tokenHash)) AND t.token_hash = \(tokenHash)
            FOR UPDATE OF s
            """
        )
        guard let row = rows.first else { return nil }
        let (session, account) = try row.decode(as: (SessionID.self, UserID.self))
        // Read again under the lock: while this transaction waited, another may have rotated the family.
        let fresh = try await sql.query(
            """
            SELECT t.generation, s.generation, t.used_at, t.expires_at, s.expires_at, s.revoked_at IS NOT NULL
            FROM session s JOIN refresh_token t ON t.session_id = s.id WHERE t.token_hash = \(tokenHash)
            """
        )
        guard let row = fresh.first else { return nil }
        let (generation, newest, usedAt, expiresAt, sessionExpiresAt, isRevoked) = try row.decode(
            as: (Int.self, Int.self, Instant?.self, Instant.self, Instant.self, Bool.self)
        )
        return (
            session, account,
            RefreshFamily.Presented(
                generation: generation,
                newestGeneration: newest,
                usedAt: usedAt,
                expiresAt: expiresAt,
                sessionExpiresAt: sessionExpiresAt,
                isRevoked: isRevoked
            )
        )
    }

    /// Generations of a session whose tokens are known: of an older one it is not known any more that it was rotated. A client that refreshes when
    /// its access token expires makes 6,000 within the days of a token (AU-3, AU-4).
    private static let knownGenerations = 10_000

    /// The next generation of a locked session. The oldest are deleted now and then, so that refreshing without end fills no disk.
    ///
    /// - Parameter expiresAt: when the session ends unless it is used again.
    func rotate(
        _ session: SessionID,
        from token: [UInt8],
        to successor: [UInt8],
        now: Instant,
        expiresAt: Instant,
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute("UPDATE refresh_token SET used_at = \(now) WHERE token_hash = \(token)")
        _ = try await sql.execute(
            """
            INSERT INTO refresh_token (token_hash, session_id, generation, expires_at)
            SELECT \(successor), id, generation + 1, \(expiresAt) FROM session WHERE id = \(session)
            """
        )
        let generation: Int? = try await sql.query(
            "UPDATE session SET generation = generation + 1, expires_at = \(expiresAt) WHERE id = \(session) RETURNING generation"
        ).first?.get(at: 0)
        guard let generation, generation > Self.knownGenerations, generation % 1_000 == 0 else { return }
        _ = try await sql.execute(
            "DELETE FROM refresh_token WHERE session_id = \(session) AND generation < \(generation - Self.knownGenerations)"
        )
    }

    /// The newest token of a locked session is given again to its parent, which is a use of the session.
    ///
    /// - Parameter expiresAt: when the session ends unless it is used again.
    /// - Returns: false when the newest token is another, since the secret that tokens are derived with has changed.
    func prolong(
        _ session: SessionID,
        from token: [UInt8],
        newest: [UInt8],
        now: Instant,
        expiresAt: Instant,
        _ sql: Transaction
    ) async throws -> Bool {
        let isNewest = try await sql.execute(
            "UPDATE refresh_token SET expires_at = \(expiresAt) WHERE token_hash = \(newest) AND session_id = \(session)"
        )
        guard isNewest == 1 else { return false }
        _ = try await sql.execute("UPDATE refresh_token SET used_at = \(now) WHERE token_hash = \(token)")
        _ = try await sql.execute("UPDATE session SET expires_at = \(expiresAt) WHERE id = \(session)")
        return true
    }

    /// Ends one session. - Returns: whether it was still open.
    func revoke(_ session: SessionID, of account: UserID, now: Instant, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            "UPDATE session SET revoked_at = \(now) WHERE id = \(session) AND account_id = \(account) AND revoked_at IS NULL"
        ) == 1
    }

    /// Ends every open session of an account but one. - Returns: those that ended.
    func revokeAll(of account: UserID, except kept: SessionID?, now: Instant, _ sql: Transaction) async throws -> [SessionID] {
        try await sql.query(
            """
            UPDATE session SET revoked_at = \(now)
            WHERE account_id = \(account) AND revoked_at IS NULL AND id IS DISTINCT FROM \(kept) RETURNING id
            """
        ).map { try $0.decode(as: SessionID.self) }
    }

    /// The open sessions of an account, the one used last first, 100 at most.
    func open(of account: UserID, now: Instant) async throws -> [AdminSession] {
        try await database.query(
            """
            SELECT s.id, s.created_at, s.expires_at,
                COALESCE((SELECT max(t.used_at) FROM refresh_token t WHERE t.session_id = s.id), s.created_at)
            FROM session s
            WHERE s.account_id = \(account) AND s.revoked_at IS NULL AND s.expires_at > \(now)
            ORDER BY s.expires_at DESC, s.id LIMIT 100
            """
        ).map { row in
            let (id, created, expires, used) = try row.decode(
                as: (SessionID.self, Instant.self, Instant.self, Instant.self)
            )
            return AdminSession(sessionID: id, createdAt: created, lastUsedAt: used, expiresAt: expires)
        }
    }

    /// Whose session a refresh token belongs to; nil for a token that was never issued.
    func owner(ofToken hash: [UInt8], _ sql: Transaction) async throws -> UserID? {
        try await sql.query(
            "SELECT s.account_id FROM refresh_token t JOIN session s ON s.id = t.session_id WHERE t.token_hash = \(hash)"
        ).first.map { try $0.decode(as: UserID.self) }
    }

    /// Deletes sessions that expired a day ago, up to 500. - Returns: how many.
    func purge(now: Instant) async throws -> Int {
        let limit = now - .days(1)
        return try await database.execute(
            """
            DELETE FROM session WHERE id IN
                (SELECT id FROM session WHERE expires_at < \(limit) ORDER BY expires_at LIMIT 500 FOR UPDATE SKIP LOCKED)
            """
        )
    }
}
