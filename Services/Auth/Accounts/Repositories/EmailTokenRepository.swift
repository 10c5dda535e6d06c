internal import AuthDomain
internal import Database
internal import Kernel

/// Tokens that were sent by mail (AU-13), by their hashes. They stay for a week after they have expired, so that the refusal says why.
struct EmailTokenRepository: Sendable {
    private static let kept = Interval.days(7)

    let database: Database

    /// A token and whose it is.
    struct Stored: Sendable {
        let id: EmailTokenID
        let account: UserID
        let token: EmailToken
    }

    static func insert(
        _ id: EmailTokenID,
        _ token: EmailToken,
        hash: [UInt8],
        of account: UserID,
        now: Instant,
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO email_token (id, account_id, purpose, token_hash, address, created_at, expires_at)
            VALUES (\(id), \(account), \(token.purpose.rawValue), \(hash), \(token.address), \(now), \(token.expiresAt))
            """
        )
    }

    /// The token with this hash; nil when there is none.
    func find(_ hash: [UInt8]) async throws -> Stored? {
        try await database.query(Self.selection(hash)).first.flatMap(Self.stored)
    }

    /// The same, locked until the transaction ends. Lock its account before.
    static func lock(_ hash: [UInt8], _ sql: Transaction) async throws -> Stored? {
        try await sql.query("\(selection(hash)) FOR UPDATE").first.flatMap(stored)
    }

    static func markUsed(_ id: EmailTokenID, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE email_token SET used_at = \(now) WHERE id = \(id)")
    }

    /// Tokens of an account that no longer work, because what they are for has changed.
    static func supersede(_ purposes: [EmailToken.Purpose], of account: UserID, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE email_token SET superseded_at = \(now)
            WHERE account_id = \(account) AND purpose = ANY(\(purposes.map(\.rawValue))) AND used_at IS NULL AND superseded_at IS NULL
            """
        )
    }

    /// Deletes tokens that expired a week ago, up to 1,000. - Returns: how many.
    func purge(now: Instant) async throws -> Int {
        let limit = now - Self.kept
        return try await database.execute(
            """
            DELETE FROM email_token WHERE id IN
                (SELECT id FROM email_token WHERE expires_at < \(limit) ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }

    private static func selection(_ hash: [UInt8]) -> Query {
        """
        SELECT id, account_id, purpose, address, expires_at, used_at, superseded_at FROM email_token WHERE token_hash = \(hash)
        """
    }

    private static func stored(_ row: Row) throws -> Stored? {
        let (id, account, number, address, expiresAt, usedAt, supersededAt) = try row.decode(
            as: (EmailTokenID.self, UserID.self, Int32.self, String.self, Instant.self, Instant?.self, Instant?.self)
        )
        guard let purpose = EmailToken.Purpose(rawValue: number) else { return nil }
        return Stored(
            id: id,
            account: account,
            token: EmailToken(
                purpose: purpose,
                address: address,
                expiresAt: expiresAt,
                usedAt: usedAt,
                supersededAt: supersededAt
            )
        )
    }
}
