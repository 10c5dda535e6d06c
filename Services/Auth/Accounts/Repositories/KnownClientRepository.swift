internal import AuthDomain
internal import Cryptography
internal import Database
internal import Kernel

/// Client addresses at which accounts were signed in lately (AU-12). Wrong guesses from one of them count for it alone, so that guesses from
/// elsewhere do not lock the owner out.
enum KnownClientRepository {
    /// What an address is known by, as text: exports are ordered by it.
    static func hash(_ address: IPAddress) -> String {
        Base64URL.encode(SHA256.hash(data: "client \(address.site)".utf8))
    }

    /// Notes that an account was signed in at an address. Written once a day: sign-ins at one address wait for each other no more often.
    static func note(_ account: UserID, at address: IPAddress?, now: Instant, _ sql: Transaction) async throws {
        guard let client = address.map(hash) else { return }
        _ = try await sql.execute(
            """
            INSERT INTO known_client AS known (account_id, client, seen_at) SELECT \(account), \(client), \(now)
            WHERE NOT EXISTS (SELECT FROM known_client
                WHERE account_id = \(account) AND client = \(client) AND seen_at > \(now - .days(1)))
            ON CONFLICT (account_id, client) DO UPDATE SET seen_at = greatest(known.seen_at, EXCLUDED.seen_at)
            """
        )
    }

    /// The addresses that count as known for the account of an e-mail, the newest first.
    static func clients(ofEmailKey emailKey: String, now: Instant, _ sql: some QueryExecutor) async throws -> [String] {
        try await sql.query(
            """
            SELECT k.client FROM known_client k JOIN account a ON a.id = k.account_id
            WHERE a.email_key = \(emailKey) AND a.deleted_at IS NULL AND k.seen_at > \(now - LoginLimit.clientsAreKnownFor)
            ORDER BY k.seen_at DESC, k.client LIMIT \(LoginLimit.knownClients)
            """
        ).map { try $0.decode(as: String.self) }
    }

    /// Deletes what is too old, up to 1,000. - Returns: how many.
    static func purge(now: Instant, _ database: Database) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM known_client WHERE (account_id, client) IN
                (SELECT account_id, client FROM known_client WHERE seen_at < \(now - LoginLimit.clientsAreKnownFor)
                ORDER BY seen_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }
}
