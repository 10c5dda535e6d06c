internal import AuthCore
internal import AuthDomain
internal import Database
internal import Kernel

/// A registration that waits for the link in its mail (`auth.private-registration`).
struct PendingRegistration: Sendable {
    /// What its token is derived from.
    let id: EmailTokenID
    /// Of the account that the token makes.
    let account: UserID
    /// As typed.
    let email: String
    let passwordHash: String
    /// Nil: made from the address.
    let username: String?
    /// Nil: made from the address.
    let displayName: String?
    let zone: Zone
    let locale: String
    let expiresAt: Instant
    /// How often the job has looked at it, this time included.
    var tries = 0
    /// Of the job's turn.
    var attempt: OperationID?
}

/// Registrations that wait for the links in their mails.
struct RegistrationRepository: Sendable {
    private static let columns: Query =
        "id, new_account_id, email, password_hash, username, display_name, time_zone, locale, expires_at, tries, attempt"

    let database: Database

    static func insert(_ registration: PendingRegistration, tokenHash: [UInt8], _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO registration_request (id, new_account_id, token_hash, email, email_key, password_hash, username, display_name,
                time_zone, locale, expires_at)
            VALUES (\(registration.id), \(registration.account), \(tokenHash), \(registration.email),
                \(AccountRepository.key(ofEmail: registration.email)), \(registration.passwordHash), \(registration.username),
                \(registration.displayName), \(registration.zone.name), \(registration.locale), \(registration.expiresAt))
            """
        )
    }

    /// Leases the one that waits longest for its mail, for 15 s by the machine's clock; other replicas leave it alone until then.
    func lease(_ attempt: OperationID) async throws -> PendingRegistration? {
        try await database.query(
            """
            UPDATE registration_request SET attempt = \(attempt), tries = tries + 1,
                lease_until = clock_timestamp() + interval '15 seconds'
            WHERE id = (SELECT id FROM registration_request WHERE mailed_at IS NULL AND lease_until <= clock_timestamp()
                ORDER BY lease_until LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING \(Self.columns)
            """
        ).first.map(Self.registration)
    }

    /// Notes that notifications has the mail of a leased one.
    func markMailed(_ registration: PendingRegistration, now: Instant) async throws {
        _ = try await database.execute(
            """
            UPDATE registration_request SET mailed_at = \(now) WHERE id = \(registration.id) AND attempt = \(registration.attempt)
            """
        )
    }

    /// Looks at a leased one again in a second, and later with every failure, at most a minute.
    func postpone(_ registration: PendingRegistration) async throws {
        _ = try await database.execute(
            """
            UPDATE registration_request SET lease_until = clock_timestamp() + least(60, 2 ^ least(tries - 1, 6)) * interval '1 second'
            WHERE id = \(registration.id) AND attempt = \(registration.attempt)
            """
        )
    }

    /// Deletes a leased one. - Returns: false when another replica has it by now.
    static func delete(_ registration: PendingRegistration, _ sql: Transaction) async throws -> Bool {
        try await sql.execute(
            "DELETE FROM registration_request WHERE id = \(registration.id) AND attempt = \(registration.attempt)"
        ) == 1
    }

    /// The one with this token; nil when there is none.
    func find(_ tokenHash: [UInt8]) async throws -> PendingRegistration? {
        try await database.query(Self.selection(tokenHash)).first.map(Self.registration)
    }

    /// The same, locked until the transaction ends.
    static func lock(_ tokenHash: [UInt8], _ sql: Transaction) async throws -> PendingRegistration? {
        try await sql.query("\(selection(tokenHash)) FOR UPDATE").first.map(registration)
    }

    /// Deletes all of an address that gets an account now: their links make no other. - Returns: how many.
    static func deleteAll(ofEmail email: String, _ sql: Transaction) async throws -> Int {
        try await sql.execute("DELETE FROM registration_request WHERE email_key = \(AccountRepository.key(ofEmail: email))")
    }

    /// Deletes those whose links have expired, up to 1,000. - Returns: how many.
    func purge(now: Instant) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM registration_request WHERE id IN
                (SELECT id FROM registration_request WHERE expires_at <= \(now) ORDER BY expires_at LIMIT 1000
                    FOR UPDATE SKIP LOCKED)
            """
        )
    }

    private static func selection(_ tokenHash: [UInt8]) -> Query {
        "SELECT \(columns) FROM registration_request WHERE token_hash = \(tokenHash)"
    }

    private static func registration(_ row: Row) throws -> PendingRegistration {
        let (id, account, email, hash, username, name, zone, locale, expiresAt, tries, attempt) = try row.decode(
            as: (
                EmailTokenID.self, UserID.self, String.self, String.self, String?.self, String?.self, String.self, String.self,
                Instant.self, Int32.self, OperationID?.self
            )
        )
        return PendingRegistration(
            id: id,
            account: account,
            email: email,
            passwordHash: hash,
            username: username,
            displayName: name,
            zone: Zone(zone) ?? .utc,
            locale: locale,
            expiresAt: expiresAt,
            tries: Int(tries),
            attempt: attempt
        )
    }
}
