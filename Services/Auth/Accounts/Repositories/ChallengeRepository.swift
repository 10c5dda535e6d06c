internal import Database
internal import Kernel

/// Which solutions of challenges were used, at all replicas, until they would not be taken any more.
struct ChallengeRepository: Sendable {
    /// How often one request may be sent with its solution.
    static let mostUses: Int32 = 5

    let database: Database

    /// What is noted of a solution.
    struct Use: Sendable {
        /// A hash of the challenge, or of the verifier's token.
        let key: [UInt8]
        /// The request and its idempotency key, as a hash; nil without a key.
        let request: [UInt8]?
        let expiresAt: Instant
    }

    /// Notes that a request uses a solution, and deletes some that have expired.
    ///
    /// - Returns: false when another request has used it, one without an idempotency key, or this one `mostUses` times.
    func note(_ use: Use, now: Instant) async throws -> Bool {
        try await database.execute(
            """
            WITH old AS (
                DELETE FROM challenge_use WHERE key IN
                    (SELECT key FROM challenge_use WHERE expires_at < \(now) ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED)
            )
            INSERT INTO challenge_use AS known (key, used_by, expires_at) VALUES (\(use.key), \(use.request), \(use.expiresAt))
            ON CONFLICT (key) DO UPDATE SET uses = known.uses + 1
                WHERE known.used_by = EXCLUDED.used_by AND known.uses < \(Self.mostUses)
            """
        ) == 1
    }

    /// Whether this request has used it before.
    func isNoted(_ use: Use) async throws -> Bool {
        guard let request = use.request else { return false }
        return try await !database.query("SELECT 1 FROM challenge_use WHERE key = \(use.key) AND used_by = \(request)").isEmpty
    }
}
