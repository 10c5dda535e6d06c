package import Database
package import Kernel

/// A user whose avatar needs a new link.
package struct StaleAvatar: Sendable {
    package let user: UserID
    package let revision: Int32
}

/// Users who have blocked another. A link to an avatar needs no signature, so one that the other has kept must die: the avatar gets a new one (SO-7).
package struct StaleAvatarRepository: Sendable {
    private let database: Database

    package init(database: Database) { self.database = database }

    /// Notes a block, in the transaction that has stored it or its end.
    static func note(_ blocker: UserID, _ blocked: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO stale_avatar AS known (user_id, due_at) SELECT blocker, clock_timestamp() FROM block_replica
            WHERE active AND blocker = \(blocker) AND blocked = \(blocked)
            ON CONFLICT (user_id) DO UPDATE SET revision = known.revision + 1, due_at = EXCLUDED.due_at
            """
        )
    }

    /// Locks up to `limit` users who are due; other replicas leave them alone until `lease`.
    package func lockDue(now: Instant, until lease: Instant, limit: Int) async throws -> [StaleAvatar] {
        try await database.query(
            """
            UPDATE stale_avatar SET due_at = \(lease) WHERE user_id IN
                (SELECT user_id FROM stale_avatar WHERE due_at <= \(now) ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING user_id, revision
            """
        ).map { row in
            let (user, revision) = try row.decode(as: (UserID.self, Int32.self))
            return StaleAvatar(user: user, revision: revision)
        }
    }

    /// The avatar has a new link. What was noted meanwhile stays due.
    package func done(_ avatar: StaleAvatar) async throws {
        _ = try await database.execute(
            "DELETE FROM stale_avatar WHERE user_id = \(avatar.user) AND revision = \(avatar.revision)"
        )
    }
}
