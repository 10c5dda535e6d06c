package import Database
package import Kernel

/// A picture whose folder must be brought in line.
struct DueClosing: Sendable {
    let user: UserID
    let key: String
    let isClosed: Bool
    let revision: Int32
}

/// Pictures that are not served (PH-6), in the transaction that says so; the job `closed_pictures` follows.
package struct ClosedPictureRepository: Sendable {
    let database: Database

    /// Closes the folder of a blob, or opens it again. What was never closed has no row.
    package static func store(_ key: String, of user: UserID, isClosed: Bool, _ sql: Transaction) async throws {
        guard isClosed else { return try await reopen([key], of: user, sql) }
        try await sql.execute(
            """
            INSERT INTO closed_picture AS known (key, user_id, is_closed, due_at) VALUES (\(key), \(user), true, clock_timestamp())
            ON CONFLICT (user_id, key) DO UPDATE SET is_closed = true, revision = known.revision + 1,
                due_at = coalesce(known.due_at, clock_timestamp())
            WHERE NOT known.is_closed
            """
        )
    }

    /// Opens folders again, or deletes what is left of those whose blobs are gone.
    package static func reopen(_ keys: [String], of user: UserID, _ sql: some QueryExecutor) async throws {
        _ = try await sql.execute(
            """
            UPDATE closed_picture SET is_closed = false, revision = revision + 1, due_at = coalesce(due_at, clock_timestamp())
            WHERE user_id = \(user) AND key = ANY(\(keys)) AND is_closed
            """
        )
    }

    /// Locks up to `limit` that are due; other replicas leave them alone until `lease`.
    func lockDue(now: Instant, until lease: Instant, limit: Int) async throws -> [DueClosing] {
        try await database.query(
            """
            UPDATE closed_picture SET due_at = \(lease) WHERE (user_id, key) IN
                (SELECT user_id, key FROM closed_picture WHERE due_at <= \(now) ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING user_id, key, is_closed, revision
            """
        ).map { row in
            let (user, key, isClosed, revision) = try row.decode(as: (UserID.self, String.self, Bool.self, Int32.self))
            return DueClosing(user: user, key: key, isClosed: isClosed, revision: revision)
        }
    }

    /// Notes that the blob store is in line. What has changed meanwhile is due at once; what is open needs no row.
    func done(_ closing: DueClosing) async throws {
        if !closing.isClosed {
            let deleted = try await database.execute(
                """
                DELETE FROM closed_picture
                WHERE user_id = \(closing.user) AND key = \(closing.key) AND revision = \(closing.revision)
                """
            )
            if deleted > 0 { return }
        }
        try await database.execute(
            """
            UPDATE closed_picture SET due_at = CASE WHEN revision = \(closing.revision) THEN NULL ELSE clock_timestamp() END
            WHERE user_id = \(closing.user) AND key = \(closing.key)
            """
        )
    }
}
