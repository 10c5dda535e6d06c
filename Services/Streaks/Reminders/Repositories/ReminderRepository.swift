internal import Database
internal import Kernel
internal import StreaksDomain

/// When each user's next reminder may be due, and which were emitted (PW-2, NO-5).
enum ReminderRepository {
    /// A user who is due, locked.
    struct DueUser: Sendable {
        let user: UserID
        var progress: ReminderProgress
        /// When the next reminder may be due; nil: when another streak begins.
        var nextAt: Instant?
    }

    /// These users have a streak that runs from now on: they are due at once. Waits for the job that has them locked, so that a user who has
    /// just been found without streaks is due again. In the order of their ids, so that no two transactions wait for each other.
    static func schedule(_ users: [UserID], now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO reminder_schedule AS known (user_id, since, next_at)
            SELECT id, \(now), \(now) FROM unnest(\(users.sorted())) AS member (id)
            ON CONFLICT (user_id) DO UPDATE SET
                since = CASE WHEN known.next_at IS NULL THEN EXCLUDED.since ELSE known.since END,
                next_at = least(known.next_at, EXCLUDED.next_at)
            """
        )
    }

    /// This user's clock or window hour may be another: they are due at once if they have a running streak.
    static func reschedule(_ user: UserID, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE reminder_schedule SET next_at = least(next_at, \(now)) WHERE user_id = \(user) AND next_at IS NOT NULL"
        )
    }

    /// Locks up to `limit` users who are due; those that another replica has locked are skipped (D7).
    static func lockDue(at now: Instant, limit: Int, _ sql: Transaction) async throws -> [DueUser] {
        try await sql.query(dueQuery(at: now, limit: limit)).map { row in
            let progress = ReminderProgress(
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
        SELECT user_id, since, opened_for, closing_for, ending_for FROM reminder_schedule WHERE next_at <= \(now)
        ORDER BY next_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// Since when the user who has waited longest is due, or will be.
    static func oldestDue(_ database: Database) async throws -> Instant? {
        try await database.query("SELECT min(next_at) FROM reminder_schedule").first?.decode(as: Instant?.self)
    }

    /// Stores what was emitted to users and when their next reminder may be due.
    static func store(_ users: [DueUser], _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE reminder_schedule SET next_at = new.next_at, opened_for = new.opened, closing_for = new.closing, ending_for = new.ending
            FROM unnest(\(users.map(\.user)), \(users.map(\.nextAt)), \(users.map(\.progress.opened)),
                \(users.map(\.progress.closing)), \(users.map(\.progress.ending))) AS new (id, next_at, opened, closing, ending)
            WHERE user_id = new.id
            """
        )
    }
}
