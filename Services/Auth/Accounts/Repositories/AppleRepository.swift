internal import Database
internal import Kernel

/// Who signs in with Apple, and which notifications Apple's servers have sent (AU-5).
struct AppleRepository: Sendable {
    let database: Database

    /// An Apple user and the account it signs in to.
    struct Identity: Sendable {
        let account: UserID
        let consentedAt: Instant
        let isRevoked: Bool
        /// Whether the account was there before: it was made with a password.
        let isLinked: Bool
    }

    /// An Apple user, locked until the transaction ends; nil when it never signed in.
    func lock(_ subject: String, _ sql: Transaction) async throws -> Identity? {
        let rows = try await sql.query(
            """
            SELECT account_id, consented_at, revoked_at IS NOT NULL, is_linked FROM apple_identity
            WHERE subject = \(subject) FOR UPDATE
            """
        )
        return try rows.first.map { row in
            let (account, consentedAt, isRevoked, isLinked) = try row.decode(
                as: (UserID.self, Instant.self, Bool.self, Bool.self)
            )
            return Identity(account: account, consentedAt: consentedAt, isRevoked: isRevoked, isLinked: isLinked)
        }
    }

    /// Whose account an Apple user signs in to.
    func account(of subject: String, _ sql: Transaction) async throws -> UserID? {
        try await sql.query("SELECT account_id FROM apple_identity WHERE subject = \(subject)").first.map {
            try $0.decode(as: UserID.self)
        }
    }

    /// The same, outside a transaction.
    func account(of subject: String) async throws -> UserID? {
        try await database.query("SELECT account_id FROM apple_identity WHERE subject = \(subject)").first.map {
            try $0.decode(as: UserID.self)
        }
    }

    func hasIdentity(_ account: UserID, _ sql: Transaction) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM apple_identity WHERE account_id = \(account)").isEmpty
    }

    /// An Apple user of an account.
    ///
    /// - Parameter isLinked: whether the account was there before.
    func insert(_ subject: String, account: UserID, isLinked: Bool, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO apple_identity (subject, account_id, consented_at, is_linked)
            VALUES (\(subject), \(account), \(now), \(isLinked))
            """
        )
    }

    /// Notes that a token has signed a user in, and deletes some that have expired.
    ///
    /// - Returns: false when it has before.
    func use(token hash: [UInt8], until expiry: Instant, now: Instant, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            """
            DELETE FROM apple_token_use WHERE token_hash IN
                (SELECT token_hash FROM apple_token_use WHERE expires_at < \(now) ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED)
            """
        )
        return try await sql.execute(
            "INSERT INTO apple_token_use (token_hash, expires_at) VALUES (\(hash), \(expiry)) ON CONFLICT DO NOTHING"
        ) == 1
    }

    /// The user consented anew.
    func restore(_ subject: String, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE apple_identity SET revoked_at = NULL, consented_at = \(now) WHERE subject = \(subject) AND revoked_at IS NOT NULL"
        )
    }

    func revoke(_ subject: String, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE apple_identity SET revoked_at = \(now) WHERE subject = \(subject)")
    }

    func setForwardsMail(_ subject: String, _ forwards: Bool, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE apple_identity SET forwards_mail = \(forwards) WHERE subject = \(subject)")
    }

    /// Stores that a notification has come. - Returns: whether it is new.
    func insert(notification id: String, kind: String, now: Instant, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            """
            INSERT INTO apple_notification (id, kind, received_at) VALUES (\(id), \(kind), \(now)) ON CONFLICT (id) DO NOTHING
            """
        ) == 1
    }

    /// Deletes notifications older than 90 days, up to 1,000. - Returns: how many.
    func purge(now: Instant) async throws -> Int {
        let limit = now - .days(90)
        return try await database.execute(
            """
            DELETE FROM apple_notification WHERE id IN
                (SELECT id FROM apple_notification WHERE received_at < \(limit) ORDER BY received_at LIMIT 1000
                FOR UPDATE SKIP LOCKED)
            """
        )
    }
}
