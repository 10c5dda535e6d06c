internal import Database
internal import Kernel

/// Which solutions of challenges were used, at all replicas, until they would not be taken any more.
struct ChallengeRepository: Sendable {
    let database: Database

    /// Notes that a solution is used, and deletes some that have expired.
    ///
    /// - Returns: false when it was used before.
    func use(_ key: [UInt8], until expiry: Instant, now: Instant) async throws -> Bool {
        try await database.execute(
            """
            WITH old AS (
                DELETE FROM challenge_use WHERE key IN
                    (SELECT key FROM challenge_use WHERE expires_at < \(now) ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED)
            )
            INSERT INTO challenge_use (key, expires_at) VALUES (\(key), \(expiry)) ON CONFLICT DO NOTHING
            """
        ) == 1
    }
}
