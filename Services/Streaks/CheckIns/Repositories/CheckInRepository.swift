internal import Database
internal import Kernel
internal import StreaksCore
internal import StreaksDomain

/// Milestones reached and freezes spent: what the fold found, kept for lists.
enum CheckInRepository {
    /// A milestone that a user reached first.
    struct Reached: Sendable {
        let user: UserID
        let days: Int
        let date: CalendarDate
    }

    /// A freeze that was spent.
    struct Freeze: Sendable {
        let user: UserID
        let date: CalendarDate
        let isByHand: Bool
        let count: Int
    }

    /// Queues the keeping of milestones.
    static func add(_ reached: [Reached], at now: Instant, _ sql: Transaction) throws {
        guard !reached.isEmpty else { return }
        try sql.enqueue(
            """
            INSERT INTO check_in_milestone (user_id, days, reached_on, reached_at)
            SELECT person, count, date, at FROM \(rows: .of(reached.map(\.user)), .of(reached.map { Int32($0.days) }),
                .of(reached.map(\.date)), .of(reached.map { _ in now })) AS r (person, count, date, at) ORDER BY person, count
            ON CONFLICT DO NOTHING
            """
        )
    }

    /// When a user reached which counts first.
    static func reached(by user: UserID, _ sql: some QueryExecutor) async throws -> [Int: CalendarDate] {
        let rows = try await sql.query("SELECT days, reached_on FROM check_in_milestone WHERE user_id = \(user)")
        return Dictionary(
            try rows.map { row in
                let (days, date) = try row.decode(as: (Int32.self, CalendarDate.self))
                return (Int(days), date)
            }
        ) { first, _ in first }
    }

    static func add(_ freezes: [Freeze], at now: Instant, _ sql: Transaction) async throws {
        guard !freezes.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO freeze_use AS known (user_id, on_date, by_hand, streak_count, used_at)
            SELECT person, date, hand, count, \(now) FROM unnest(\(freezes.map(\.user)), \(freezes.map(\.date)),
                \(freezes.map(\.isByHand)), \(freezes.map { Int32($0.count) })) AS f (person, date, hand, count) ORDER BY person, date
            ON CONFLICT (user_id, on_date) DO UPDATE SET by_hand = EXCLUDED.by_hand, streak_count = EXCLUDED.streak_count,
                used_at = EXCLUDED.used_at, returned_at = NULL
            """
        )
    }

    static func giveBack(_ freezes: [(user: UserID, date: CalendarDate)], at now: Instant, _ sql: Transaction) async throws {
        guard !freezes.isEmpty else { return }
        _ = try await sql.execute(
            """
            UPDATE freeze_use SET returned_at = \(now) FROM unnest(\(freezes.map(\.user)), \(freezes.map(\.date))) AS f (person, date)
            WHERE user_id = person AND on_date = date
            """
        )
    }

    /// The last date a freeze was spent on, and those since `date`.
    static func freezes(of user: UserID, since date: CalendarDate) -> Query {
        """
        (SELECT max(on_date) FROM freeze_use WHERE user_id = \(user) AND returned_at IS NULL),
        ARRAY(SELECT on_date FROM freeze_use WHERE user_id = \(user) AND returned_at IS NULL AND on_date >= \(date))
        """
    }

    /// Why a user paused, and until when; of a pause that begins earlier than it was noted (`StreakLedger.pause`), the dates.
    ///
    /// - Parameter now: `at` of the ledger's pause.
    static func addPause(
        _ user: UserID,
        from: CalendarDate,
        until: CalendarDate,
        reason: String,
        notes: String?,
        at now: Instant,
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO check_in_pause (user_id, paused_at, from_date, until_date, reason, notes)
            VALUES (\(user), \(now), \(from), \(until), \(reason), \(notes))
            ON CONFLICT (user_id, paused_at) DO UPDATE SET from_date = EXCLUDED.from_date, until_date = EXCLUDED.until_date
            """
        )
    }
}
