internal import Database
internal import Kernel
internal import SocialDomain

/// An invite as it is stored.
struct StoredInvite: Sendable {
    let id: CircleInviteID
    let circle: CircleID
    let createdAt: Instant
    let invite: CircleInvite
}

/// Invites to circles. Their circle is locked by whatever changes them.
struct InviteRepository: Sendable {
    let database: Database

    private static let columns: Query = "id, circle_id, created_at, code, max_uses, uses, expires_at, revoked_at IS NOT NULL"

    /// The most invites of a circle that are stored: of those that are not valid any more the oldest are deleted.
    private static let mostStored = 100

    func insert(_ stored: StoredInvite, by user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            DELETE FROM circle_invite WHERE id IN (
                SELECT id FROM circle_invite WHERE circle_id = \(stored.circle)
                    AND (revoked_at IS NOT NULL OR uses >= max_uses OR expires_at <= \(stored.createdAt))
                ORDER BY created_at DESC, id DESC OFFSET \(Self.mostStored - CircleInvite.limit))
            """
        )
        _ = try await sql.execute(
            """
            INSERT INTO circle_invite (id, circle_id, code, created_by, created_at, expires_at, max_uses)
            VALUES (\(stored.id), \(stored.circle), \(stored.invite.code), \(user), \(stored.createdAt), \(stored.invite.expiresAt),
                \(stored.invite.maxUses))
            """
        )
    }

    /// The valid ones of a circle, the newest first.
    func valid(of circle: CircleID, at now: Instant, _ sql: some QueryExecutor) async throws -> [StoredInvite] {
        try await sql.query(
            """
            SELECT \(Self.columns) FROM circle_invite
            WHERE circle_id = \(circle) AND revoked_at IS NULL AND expires_at > \(now) AND uses < max_uses
            ORDER BY created_at DESC, id DESC LIMIT \(CircleInvite.limit)
            """
        ).map(Self.invite)
    }

    /// The one with a code, valid or not; nil when there is none.
    func find(code: String, _ sql: some QueryExecutor) async throws -> StoredInvite? {
        try await sql.query("SELECT \(Self.columns) FROM circle_invite WHERE code = \(code)").first.map(Self.invite)
    }

    func storeUses(_ stored: StoredInvite, _ uses: Int32, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE circle_invite SET uses = \(uses) WHERE id = \(stored.id)")
    }

    /// Whether a circle has, or had, this invite.
    func exists(_ id: CircleInviteID, of circle: CircleID, _ sql: Transaction) async throws -> Bool {
        try await !sql.query("SELECT 1 FROM circle_invite WHERE id = \(id) AND circle_id = \(circle)").isEmpty
    }

    /// Revokes those of a circle that are valid. - Returns: how many.
    func revoke(of circle: CircleID, only id: CircleInviteID?, at now: Instant, _ sql: Transaction) async throws -> Int {
        let only: Query = id.map { "AND id = \($0)" } ?? ""
        return try await sql.execute(
            """
            UPDATE circle_invite SET revoked_at = \(now)
            WHERE circle_id = \(circle) AND revoked_at IS NULL AND expires_at > \(now) AND uses < max_uses \(only)
            """
        )
    }

    /// Closes the invites that a circle has now to a user who was removed from it. Its row is locked.
    func close(_ circle: CircleID, to user: UserID, at now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO circle_removal (circle_id, user_id, removed_at) VALUES (\(circle), \(user), \(now))
            ON CONFLICT (circle_id, user_id) DO UPDATE SET removed_at = EXCLUDED.removed_at
            """
        )
    }

    /// Whether an invite leads a user nowhere: they were removed from the circle since it was made, or of them and the circle's owner one
    /// blocks the other (SO-7). The owner would not even see such a member, and so could not remove them.
    func isClosed(_ stored: StoredInvite, to user: UserID, _ sql: some QueryExecutor) async throws -> Bool {
        try await !sql.query(
            """
            SELECT 1 FROM circle_removal
            WHERE circle_id = \(stored.circle) AND user_id = \(user) AND removed_at >= \(stored.createdAt)
            UNION ALL SELECT 1 FROM circle_member o WHERE o.circle_id = \(stored.circle) AND o.role = 1
              AND (EXISTS (SELECT 1 FROM block b WHERE b.active AND b.blocker = \(user) AND b.blocked = o.user_id)
                OR EXISTS (SELECT 1 FROM block b WHERE b.active AND b.blocker = o.user_id AND b.blocked = \(user)))
            """
        ).isEmpty
    }

    /// Deletes up to 1,000 removals before an instant: every invite that was made earlier is over. - Returns: how many.
    func deleteRemovals(before limit: Instant) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM circle_removal WHERE (circle_id, user_id) IN
                (SELECT circle_id, user_id FROM circle_removal WHERE removed_at < \(limit) ORDER BY removed_at LIMIT 1000
                 FOR UPDATE SKIP LOCKED)
            """
        )
    }

    /// Deletes up to 1,000 that have been over since an instant. - Returns: how many.
    func deleteExpired(before limit: Instant) async throws -> Int {
        try await database.execute(
            """
            DELETE FROM circle_invite WHERE id IN
                (SELECT id FROM circle_invite WHERE expires_at < \(limit) ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """
        )
    }

    private static func invite(_ row: Row) throws -> StoredInvite {
        StoredInvite(
            id: try row.get(at: 0),
            circle: try row.get(at: 1),
            createdAt: try row.get(at: 2),
            invite: CircleInvite(
                code: try row.get(at: 3),
                maxUses: try row.get(at: 4),
                uses: try row.get(at: 5),
                expiresAt: try row.get(at: 6),
                isRevoked: try row.get(at: 7)
            )
        )
    }
}
