internal import Database
internal import Kernel

/// An owner whose blobs must be brought in line.
struct DueOwner: Sendable {
    let user: UserID
    let isWithheld: Bool
    let isPurged: Bool
    let revision: Int32
}

/// Whose photos may be served.
struct OwnerRepository: Sendable {
    let database: Database

    /// Stores a profile's status. A user who could always be seen has no row. A lease that runs is kept: two replicas at once could leave
    /// the older state behind.
    static func store(_ user: UserID, version: Int64, isWithheld: Bool, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE photo_owner SET version = \(version), is_withheld = \(isWithheld),
                revision = revision + CASE WHEN is_withheld <> \(isWithheld) THEN 1 ELSE 0 END,
                due_at = CASE WHEN is_withheld <> \(isWithheld) THEN coalesce(due_at, clock_timestamp()) ELSE due_at END
            WHERE user_id = \(user) AND version < \(version) AND NOT is_purged
            """
        )
        guard isWithheld else { return }
        _ = try await sql.execute(
            """
            INSERT INTO photo_owner (user_id, version, is_withheld, due_at) VALUES (\(user), \(version), true, clock_timestamp())
            ON CONFLICT DO NOTHING
            """
        )
    }

    /// Notes a user as purged, so that the job deletes the blobs.
    static func purge(_ user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO photo_owner AS known (user_id, version, is_withheld, is_purged, due_at)
            VALUES (\(user), 0, true, true, clock_timestamp())
            ON CONFLICT (user_id) DO UPDATE SET is_withheld = true, is_purged = true, revision = known.revision + 1,
                due_at = coalesce(known.due_at, clock_timestamp())
            """
        )
    }

    /// Locks up to `limit` owners that are due; other replicas leave them alone until `leaseUntil`.
    func lockDue(now: Instant, leaseUntil: Instant, limit: Int) async throws -> [DueOwner] {
        try await database.query(
            """
            UPDATE photo_owner SET due_at = \(leaseUntil) WHERE user_id IN
                (SELECT user_id FROM photo_owner WHERE due_at <= \(now) ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING user_id, is_withheld, is_purged, revision
            """
        ).map { row in
            let (user, isWithheld, isPurged, revision) = try row.decode(
                as: (UserID.self, Bool.self, Bool.self, Int32.self)
            )
            return DueOwner(user: user, isWithheld: isWithheld, isPurged: isPurged, revision: revision)
        }
    }

    /// Notes that the blob store is in line. What has changed meanwhile is due at once.
    func done(_ owner: DueOwner) async throws {
        _ = try await database.execute(
            """
            UPDATE photo_owner SET due_at = CASE WHEN revision = \(owner.revision) THEN NULL ELSE clock_timestamp() END
            WHERE user_id = \(owner.user)
            """
        )
    }
}
