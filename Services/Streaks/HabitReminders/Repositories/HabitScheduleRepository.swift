internal import Database
internal import Kernel
internal import StreaksDomain

/// When each user's next reminder of habits may be due, and what was handled of their dates.
enum HabitScheduleRepository {
    /// A user who is due, locked.
    struct DueUser: Sendable {
        let user: UserID
        let since: Instant
        var eveningDate: CalendarDate?
        let motivationSince: Instant?
        var motivationDate: CalendarDate?
        var allowance: HabitReminderAllowance
        /// When the next reminder may be due; nil: when there is a habit again.
        var nextAt: Instant?
    }

    /// Locks up to `limit` users who are due; those that another replica has locked are skipped (D7).
    static func lockDue(at now: Instant, limit: Int, _ sql: Transaction) async throws -> [DueUser] {
        try await sql.query(dueQuery(at: now, limit: limit)).map { row in
            DueUser(
                user: try row.get(at: 0),
                since: try row.get(at: 1),
                eveningDate: try row.get(at: 2),
                motivationSince: try row.get(at: 3),
                motivationDate: try row.get(at: 4),
                allowance: HabitReminderAllowance(
                    date: try row.get(at: 5),
                    sent: Int(try row.get(at: 6, as: Int32.self))
                ),
                nextAt: nil
            )
        }
    }

    static func dueQuery(at now: Instant, limit: Int) -> Query {
        """
        SELECT user_id, since, evening_date, motivation_since, motivation_date, sent_date, sent FROM habit_reminder_schedule
        WHERE next_at <= \(now) ORDER BY next_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    /// Since when the user who has waited longest is due, or will be.
    static func oldestDue(_ database: Database) async throws -> Instant? {
        try await database.query("SELECT min(next_at) FROM habit_reminder_schedule").first?.decode(as: Instant?.self)
    }

    /// Stores what was handled and when the next reminder may be due.
    static func store(_ users: [DueUser], _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE habit_reminder_schedule SET next_at = new.next_at, evening_date = new.evening, motivation_date = new.motivation,
                sent_date = new.sent_date, sent = new.sent
            FROM unnest(\(users.map(\.user)), \(users.map(\.nextAt)), \(users.map(\.eveningDate)), \(users.map(\.motivationDate)),
                \(users.map(\.allowance.date)), \(users.map { Int32(clamping: $0.allowance.sent) }))
                AS new (id, next_at, evening, motivation, sent_date, sent)
            WHERE user_id = new.id
            """
        )
    }

    /// Waits for the job that has the user locked. A user without a habit so far has no row.
    static func lock(_ user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.query("SELECT 1 FROM habit_reminder_schedule WHERE user_id = \(user) FOR UPDATE")
    }

    /// What reminds this user may be due at another time: they are due at once if they wait for a reminder.
    static func reschedule(_ user: UserID, at now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE habit_reminder_schedule SET next_at = least(next_at, \(now)) WHERE user_id = \(user) AND next_at IS NOT NULL
            """
        )
    }

    /// The users of whom reminders that wait for an answer are settled by these are due at once. Sent with the next statement or the commit.
    static func wake(_ settled: [HabitReminderRepository.Settled], at now: Instant, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            UPDATE habit_reminder_schedule SET next_at = least(next_at, \(now)) WHERE user_id IN (
                SELECT r.user_id FROM habit_reminder r
                JOIN unnest(\(settled.map(\.streak)), \(settled.map(\.date))) AS done (streak_id, on_date)
                    ON r.streak_id = done.streak_id AND r.awaiting_date = done.on_date)
            """
        )
    }

    /// Whether a user wants words of motivation, from now on. Not of one who is purged.
    static func setMotivation(_ isOn: Bool, of user: UserID, at now: Instant, _ sql: Transaction) async throws {
        guard isOn else {
            _ = try await sql.execute(
                "UPDATE habit_reminder_schedule SET motivation_since = NULL WHERE user_id = \(user)"
            )
            return
        }
        _ = try await sql.execute(
            """
            INSERT INTO habit_reminder_schedule AS known (user_id, since, next_at, motivation_since)
            SELECT \(user), \(now), \(now), \(now) WHERE NOT EXISTS (SELECT 1 FROM purged_user WHERE user_id = \(user))
            ON CONFLICT (user_id) DO UPDATE SET motivation_since = EXCLUDED.motivation_since,
                since = CASE WHEN known.next_at IS NULL THEN EXCLUDED.since ELSE known.since END,
                next_at = least(known.next_at, EXCLUDED.next_at)
            """
        )
    }

    /// Those of these users who are on a premium plan.
    static func premium(among users: [UserID], at now: Instant, _ sql: Transaction) async throws -> Set<UserID> {
        guard !users.isEmpty else { return [] }
        return Set(
            try await sql.query(
                """
                SELECT user_id FROM entitlement_replica
                WHERE user_id = ANY(\(users)) AND is_premium AND (expires_at IS NULL OR expires_at > \(now))
                """
            ).map { try $0.get(at: 0) }
        )
    }
}
