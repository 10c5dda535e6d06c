internal import Database
internal import Kernel

/// How many test pushes users have had sent lately. Not the log: its entries can be deleted.
enum TestPushRepository {
    /// Within an hour.
    static let most = 5
    private static let window = Interval.hours(1)

    /// Counts one, under the lock of the user's row.
    ///
    /// - Throws: `RATE_LIMITED` when there were as many as there may be.
    static func count(for user: UserID, now: Instant, _ sql: Transaction) async throws {
        let rows = try await sql.query(
            """
            INSERT INTO test_push AS known (user_id, sent_at, expires_at) VALUES (\(user), ARRAY[\(now)]::timestamptz[], \(now + window))
            ON CONFLICT (user_id) DO UPDATE SET expires_at = EXCLUDED.expires_at, sent_at =
                ARRAY(SELECT at FROM unnest(known.sent_at) AS at WHERE at > \(now - window) ORDER BY at) || EXCLUDED.sent_at
            RETURNING sent_at
            """
        )
        let sent = try rows.first?.decode(as: [Instant].self) ?? []
        guard sent.count > most, let oldest = sent.first else { return }
        throw ServiceError(
            .resourceExhausted,
            "RATE_LIMITED",
            "Too many test notifications were asked for. Try again later.",
            retryAfter: max(1, Int((oldest + window - now).seconds) + 1)
        )
    }

    /// Deletes counts that are over, up to 1,000. - Returns: how many.
    static func purge(now: Instant, _ database: Database) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM test_push WHERE user_id IN
                (SELECT user_id FROM test_push WHERE expires_at < \(now) ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }
}
