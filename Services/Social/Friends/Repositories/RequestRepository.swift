internal import Database
internal import Kernel

/// What the limits of friend requests count (SO-1).
struct RequestRepository: Sendable {
    let database: Database

    /// One request at a time for each sender, so that the limits hold across replicas. Before any pair is locked; taken with the next statement.
    func lockSender(_ user: UserID, _ sql: Transaction) throws {
        try sql.enqueueLock(named: "sender \(user)")
    }

    /// The requests that `user` has pending, and when new ones were sent since an instant, oldest first. The sender is locked.
    func counts(of user: UserID, since: Instant, _ sql: Transaction) async throws -> (pending: Int, sent: [Instant]) {
        let rows = try await sql.query(together: [
            "SELECT count(*) FROM friendship WHERE requester = \(user) AND state = 1",
            "SELECT sent_at FROM sent_request WHERE sender = \(user) AND sent_at > \(since) ORDER BY sent_at LIMIT 1000",
        ])
        return (try rows[0].first?.decode(as: Int.self) ?? 0, try rows[1].map { try $0.decode(as: Instant.self) })
    }

    /// Notes that a new request was sent.
    func noteSent(_ id: FriendshipID, by user: UserID, now: Instant, _ sql: Transaction) throws {
        try sql.enqueue("INSERT INTO sent_request (friendship_id, sender, sent_at) VALUES (\(id), \(user), \(now))")
    }

    /// Deletes up to 1,000 notes that no limit counts any more. - Returns: how many.
    func deleteSent(before limit: Instant) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM sent_request WHERE friendship_id IN
                (SELECT friendship_id FROM sent_request WHERE sent_at < \(limit) ORDER BY sent_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }
}
