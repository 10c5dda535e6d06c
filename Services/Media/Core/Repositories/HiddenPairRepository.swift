internal import Database
internal import Kernel

/// Two people, and whether either blocks the other.
struct HiddenPair: Sendable {
    let one: UserID
    let other: UserID
    let isBlocked: Bool
    /// Whether they were shown to each other again and the links of before have expired since.
    let isShown: Bool
    let revision: Int32
}

/// Whose photos must not be served to whom (PH-6), as far as the blob store has yet to learn it.
struct HiddenPairRepository: Sendable {
    let database: Database

    /// Notes a change of a block, in the transaction that stores it.
    static func note(_ blocker: UserID, _ blocked: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO hidden_pair AS known (one, other, due_at)
            SELECT \(min(blocker, blocked)), \(max(blocker, blocked)), clock_timestamp() WHERE \(blocker) <> \(blocked)
            ON CONFLICT (one, other) DO UPDATE SET revision = known.revision + 1, is_shown = false, due_at = EXCLUDED.due_at
            """
        )
    }

    /// The same for every user whom a purged user blocks or is blocked by, before those blocks are deleted, as if every earlier link had
    /// expired: nothing of a purged user is served anyway, and no marker may be left.
    static func noteAll(of user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO hidden_pair AS known (one, other, due_at, is_shown)
            SELECT DISTINCT least(blocker, blocked), greatest(blocker, blocked), now(), true FROM block_replica
            WHERE (blocker = \(user) OR blocked = \(user)) AND blocker <> blocked
            ON CONFLICT (one, other) DO UPDATE SET revision = known.revision + 1, is_shown = true, due_at = EXCLUDED.due_at
            """
        )
    }

    /// Locks up to `limit` pairs that are due; other replicas leave them alone until `lease`.
    func lockDue(now: Instant, until lease: Instant, limit: Int) async throws -> [HiddenPair] {
        try await database.query(
            """
            UPDATE hidden_pair p SET due_at = \(lease) WHERE (one, other) IN
                (SELECT one, other FROM hidden_pair WHERE due_at <= \(now) ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED)
            RETURNING one, other, revision, is_shown, EXISTS (SELECT FROM block_replica b WHERE b.active
                AND (b.blocker = p.one AND b.blocked = p.other OR b.blocker = p.other AND b.blocked = p.one))
            """
        ).map { row in
            let (one, other, revision, isShown, isBlocked) = try row.decode(
                as: (UserID.self, UserID.self, Int32.self, Bool.self, Bool.self)
            )
            return HiddenPair(one: one, other: other, isBlocked: isBlocked, isShown: isShown, revision: revision)
        }
    }

    /// They are shown to each other again. The row is due once more when the links of before have expired; until then they stay dead.
    func shown(_ pair: HiddenPair, until limit: Instant) async throws {
        let noted = try await database.execute(
            """
            UPDATE hidden_pair SET due_at = \(limit), is_shown = true
            WHERE one = \(pair.one) AND other = \(pair.other) AND revision = \(pair.revision)
            """
        )
        if noted == 0 { try await done(pair) }
    }

    /// The blob store is in line. What has changed meanwhile is due at once.
    func done(_ pair: HiddenPair) async throws {
        let deleted = try await database.execute(
            "DELETE FROM hidden_pair WHERE one = \(pair.one) AND other = \(pair.other) AND revision = \(pair.revision)"
        )
        guard deleted == 0 else { return }
        _ = try await database.execute(
            "UPDATE hidden_pair SET due_at = clock_timestamp() WHERE one = \(pair.one) AND other = \(pair.other)"
        )
    }
}
