internal import Database
internal import Kernel
internal import StreaksDomain

/// When each user's next reminder of solo streaks may be due, and which were handled (NO-5).
enum SoloReminderRepository {
    /// A break of a check-in streak of which a reminder may still be due.
    struct Break: Sendable {
        let missedDate: CalendarDate
        let brokenAt: Instant
        let lostCount: Int32
    }

    /// A user who is due, locked.
    struct DueUser: Sendable {
        let user: UserID
        var progress: SoloProgress
        let lastBreak: Break?
        /// When the next reminder may be due; nil: when a run begins.
        var nextAt: Instant?
    }

    /// These users have a run from now on: they are due at once, and what broke before is over. In the order of their ids.
    static func schedule(_ users: [UserID], now: Instant, _ sql: Transaction) async throws {
        guard !users.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO solo_reminder AS known (user_id, since, next_at)
            SELECT id, \(now), \(now) FROM unnest(\(users.sorted())) AS person (id)
            ON CONFLICT (user_id) DO UPDATE SET
                since = CASE WHEN known.next_at IS NULL THEN EXCLUDED.since ELSE known.since END,
                next_at = least(known.next_at, EXCLUDED.next_at)
            """
        )
    }

    /// A run of these users' check-in streaks goes on: no reminder of a break is due any more.
    static func forgetBreaks(of users: [UserID], _ sql: Transaction) async throws {
        guard !users.isEmpty else { return }
        _ = try await sql.execute(
            """
            UPDATE solo_reminder SET missed_date = NULL, broken_at = NULL, lost_count = 0
            WHERE user_id = ANY(\(users)) AND missed_date IS NOT NULL
            """
        )
    }

    /// Notes breaks of check-in streaks. In the order of the users' ids.
    static func note(_ breaks: [(user: UserID, news: Break)], now: Instant, _ sql: Transaction) async throws {
        guard !breaks.isEmpty else { return }
        let sorted = breaks.sorted { $0.user < $1.user }
        _ = try await sql.execute(
            """
            INSERT INTO solo_reminder AS known (user_id, since, next_at, missed_date, broken_at, lost_count)
            SELECT id, \(now), \(now), missed, broken, lost
            FROM unnest(\(sorted.map(\.user)), \(sorted.map(\.news.missedDate)), \(sorted.map(\.news.brokenAt)),
                \(sorted.map(\.news.lostCount))) AS news (id, missed, broken, lost)
            ON CONFLICT (user_id) DO UPDATE SET missed_date = EXCLUDED.missed_date, broken_at = EXCLUDED.broken_at,
                lost_count = EXCLUDED.lost_count, next_at = least(known.next_at, EXCLUDED.next_at)
            """
        )
    }

    /// This user's clock may be another: they are due at once if they wait for a reminder.
    static func reschedule(_ user: UserID, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE solo_reminder SET next_at = least(next_at, \(now)) WHERE user_id = \(user) AND next_at IS NOT NULL"
        )
    }

    /// Locks up to `limit` users who are due; those that another replica has locked are skipped (D7).
    static func lockDue(at now: Instant, limit: Int, _ sql: Transaction) async throws -> [DueUser] {
        try await sql.query(dueQuery(at: now, limit: limit)).map { row in
            let (user, since, date, slots, missed, broken, lost) = try row.decode(
                as: (UserID.self, Instant.self, CalendarDate?.self, Int32.self, CalendarDate?.self, Instant?.self, Int32.self)
            )
            let lastBreak = missed.flatMap { missed in
                broken.map { Break(missedDate: missed, brokenAt: $0, lostCount: lost) }
            }
            return DueUser(user: user, progress: SoloProgress(since: since, date: date, slots: slots), lastBreak: lastBreak)
        }
    }

    static func dueQuery(at now: Instant, limit: Int) -> Query {
        """
        SELECT user_id, since, handled_date, handled_slots, missed_date, broken_at, lost_count FROM solo_reminder
        WHERE next_at <= \(now) ORDER BY next_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// Since when the user who has waited longest is due, or will be.
    static func oldestDue(_ database: Database) async throws -> Instant? {
        try await database.query("SELECT min(next_at) FROM solo_reminder").first?.decode(as: Instant?.self)
    }

    /// Stores what was handled and when the next reminder may be due.
    static func store(_ users: [DueUser], _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE solo_reminder SET next_at = new.next_at, handled_date = new.handled, handled_slots = new.slots
            FROM unnest(\(users.map(\.user)), \(users.map(\.nextAt)), \(users.map(\.progress.date)),
                \(users.map { $0.progress.slots })) AS new (id, next_at, handled, slots)
            WHERE user_id = new.id
            """
        )
    }
}
