internal import BlobStore
internal import Database
internal import Kernel

/// A picture of a user: its renditions are made once and never changed.
struct Avatar: Sendable {
    let id: OperationID
    let user: UserID

    var large: BlobKey { get throws { try BlobKey("avatars/\(user)/\(id)/512.jpg") } }
    var small: BlobKey { get throws { try BlobKey("avatars/\(user)/\(id)/128.jpg") } }
    var keys: [BlobKey] { get throws { [try large, try small] } }
}

/// Which pictures there are, and which one a person shows.
struct AvatarRepository: Sendable {
    let database: Database

    /// Records a picture whose renditions are about to be stored; it is to be deleted at `deadline` unless it is shown by then.
    func begin(_ avatar: Avatar, deadline: Instant) async throws {
        _ = try await database.execute(
            "INSERT INTO avatar (id, user_id, due_at) VALUES (\(avatar.id), \(avatar.user), \(deadline))"
        )
    }

    /// Shows a picture in place of the one before, which is deleted at `retireAt`.
    ///
    /// - Returns: the version of this change; nil when the picture was given up meanwhile.
    func show(_ avatar: Avatar, retireAt: Instant, _ sql: Transaction) async throws -> Int64? {
        let version = try await sql.query(
            """
            INSERT INTO avatar_owner AS known (user_id, version) VALUES (\(avatar.user), 1)
            ON CONFLICT (user_id) DO UPDATE SET version = known.version + 1 RETURNING version
            """
        ).first?.decode(as: Int64.self)
        _ = try await sql.execute(
            "UPDATE avatar SET state = 2, due_at = \(retireAt) WHERE user_id = \(avatar.user) AND state = 1"
        )
        let shown = try await sql.execute("UPDATE avatar SET state = 1, due_at = NULL WHERE id = \(avatar.id) AND state = 0")
        return shown == 1 ? version : nil
    }

    /// Shows no picture any more. - Returns: the version of this change; nil when there was none.
    func remove(of user: UserID, now: Instant, _ sql: Transaction) async throws -> Int64? {
        let version = try await sql.query("SELECT version + 1 FROM avatar_owner WHERE user_id = \(user) FOR UPDATE").first?
            .decode(as: Int64.self)
        let removed = try await sql.execute(
            "UPDATE avatar SET state = 2, due_at = \(now) WHERE user_id = \(user) AND state = 1"
        )
        guard let version, removed == 1 else { return nil }
        _ = try await sql.execute("UPDATE avatar_owner SET version = \(version) WHERE user_id = \(user)")
        return version
    }

    /// The picture that a user shows; nil when there is none.
    func shown(of user: UserID) async throws -> Avatar? { try await shown(of: user, database) }

    private func shown(of user: UserID, _ sql: some QueryExecutor) async throws -> Avatar? {
        try await sql.query("SELECT id FROM avatar WHERE user_id = \(user) AND state = 1").first.map {
            Avatar(id: try $0.decode(as: OperationID.self), user: user)
        }
    }

    /// The same, and none other is shown until the transaction ends.
    func lockShown(of user: UserID, _ sql: Transaction) async throws -> Avatar? {
        _ = try await sql.query("SELECT version FROM avatar_owner WHERE user_id = \(user) FOR UPDATE")
        return try await shown(of: user, sql)
    }

    /// Gives up a picture that was never shown.
    func giveUp(_ avatar: Avatar, now: Instant) async throws {
        _ = try await database.execute("UPDATE avatar SET state = 2, due_at = \(now) WHERE id = \(avatar.id) AND state = 0")
    }

    /// Locks up to `limit` pictures that are to be deleted; from now on they are not shown, and other replicas leave them alone until
    /// `lease`.
    func lockDue(now: Instant, until lease: Instant, limit: Int) async throws -> [Avatar] {
        try await database.query(
            """
            UPDATE avatar SET state = 2, due_at = \(lease) WHERE id IN
                (SELECT id FROM avatar WHERE due_at <= \(now) ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING id, user_id
            """
        ).map { row in
            let (id, user) = try row.decode(as: (OperationID.self, UserID.self))
            return Avatar(id: id, user: user)
        }
    }

    /// Deletes the rows of pictures whose blobs are deleted.
    func delete(_ ids: [OperationID]) async throws {
        _ = try await database.execute("DELETE FROM avatar WHERE id = ANY(\(ids)) AND state = 2")
    }
}
