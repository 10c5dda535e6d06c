internal import Database
internal import Kernel
internal import StreaksDomain

/// Whom to look at next, and what they have been told (PW-2, NO-5).
enum MomentRepository {
    /// A person who is due, locked.
    struct DueUser: Sendable {
        let user: UserID
        var progress: MomentProgress
        /// When to look again; nil: when another streak begins.
        var nextAt: Instant?
    }

    /// A running streak as one of its members has it.
    struct Membership: Sendable {
        let user: UserID
        let row: StreakRow
        var friend: UserID { row.friend(of: user) }
    }

    /// These people have a streak that runs from now on: look at them at once. Waits for whoever looks at them now, so that nobody who
    /// has just been found without streaks is forgotten. In the order of their ids, so that no two transactions wait for each other.
    static func wake(_ users: [UserID], now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO user_moment AS known (user_id, since, next_at)
            SELECT id, \(now), \(now) FROM unnest(\(users.sorted())) AS person (id)
            ON CONFLICT (user_id) DO UPDATE SET
                since = CASE WHEN known.next_at IS NULL THEN EXCLUDED.since ELSE known.since END,
                next_at = least(known.next_at, EXCLUDED.next_at)
            """
        )
    }

    /// This person's clock or window hour may be another: look at them at once if they have a running streak.
    static func reconsider(_ user: UserID, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE user_moment SET next_at = least(next_at, \(now)) WHERE user_id = \(user) AND next_at IS NOT NULL"
        )
    }

    /// Locks up to `limit` people who are due; other replicas' are passed over (D7).
    static func lockDue(at now: Instant, limit: Int, _ sql: Transaction) async throws -> [DueUser] {
        try await sql.query(dueQuery(at: now, limit: limit)).map { row in
            let progress = MomentProgress(
                since: try row.get(at: 1),
                opened: try row.get(at: 2),
                closing: try row.get(at: 3),
                ending: try row.get(at: 4)
            )
            return DueUser(user: try row.get(at: 0), progress: progress, nextAt: nil)
        }
    }

    static func dueQuery(at now: Instant, limit: Int) -> Query {
        """
        SELECT user_id, since, opened_for, closing_for, ending_for FROM user_moment WHERE next_at <= \(now)
        ORDER BY next_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// Since when the person who has waited longest is due, or will be.
    static func oldestDue(_ database: Database) async throws -> Instant? {
        try await database.query("SELECT min(next_at) FROM user_moment").first?.decode(as: Instant?.self)
    }

    /// Stores what people were told and when to look at them again.
    static func store(_ users: [DueUser], _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE user_moment SET next_at = new.next_at, opened_for = new.opened, closing_for = new.closing, ending_for = new.ending
            FROM unnest(\(users.map(\.user)), \(users.map(\.nextAt)), \(users.map(\.progress.opened)),
                \(users.map(\.progress.closing)), \(users.map(\.progress.ending))) AS new (id, next_at, opened, closing, ending)
            WHERE user_id = new.id
            """
        )
    }

    /// The running streaks of these people.
    static func memberships(of users: [UserID], _ sql: Transaction) async throws -> [Membership] {
        // Two index scans a person instead of one OR: each reads only the rows it returns. OFFSET 0 keeps the planner, whatever statistics say,
        // from joining with all streaks instead.
        try await sql.query(
            """
            SELECT \(StreakRow.columns), person FROM unnest(\(users)) AS person CROSS JOIN LATERAL (
                SELECT * FROM streak WHERE user_a = person AND status = 1 UNION ALL
                SELECT * FROM streak WHERE user_b = person AND status = 1 OFFSET 0) AS mine
            """
        ).mapInSlices { Membership(user: try $0.get(at: StreakRow.columnCount), row: try StreakRow($0)) }
    }
}
