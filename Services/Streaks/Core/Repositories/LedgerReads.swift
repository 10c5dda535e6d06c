package import Database
package import Kernel
package import StreaksDomain

/// A user has contributed for a date.
package struct PostedDate: Hashable, Sendable {
    package let streak: StreakID
    package let user: UserID
    package let date: CalendarDate

    package init(streak: StreakID, user: UserID, date: CalendarDate) {
        (self.streak, self.user, self.date) = (streak, user, date)
    }
}

/// What features read of streaks and ledgers besides the streaks themselves, without locks.
package enum LedgerReads {
    /// Who contributed for which date, from a date on.
    package static func contributions(
        to streaks: [StreakID],
        since date: CalendarDate,
        _ sql: some QueryExecutor
    ) async throws -> Set<PostedDate> {
        let rows = try await sql.lookup(
            "SELECT streak_id, user_id, on_date FROM contribution WHERE streak_id = ANY(\(streaks)) AND on_date >= \(date)"
        )
        return Set(try rows.map { PostedDate(streak: try $0.get(at: 0), user: try $0.get(at: 1), date: try $0.get(at: 2)) })
    }

    /// A running streak as one of its members has it.
    package struct Membership: Sendable {
        package let user: UserID
        package let row: StreakRow
        /// The other member of a pair; a user alone is their own.
        package var partner: UserID { row.partner(of: user) ?? user }
    }

    /// The running streaks of a kind of these users.
    package static func running(_ kind: StreakKind, of users: [UserID], _ sql: some QueryExecutor) async throws -> [Membership] {
        try await memberships([kind], of: users, [1], sql)
    }

    /// The streaks of some kinds of these users that have not ended: also those that broke and wait for a new run.
    package static func unended(_ kinds: [StreakKind], of users: [UserID], _ sql: some QueryExecutor) async throws -> [Membership]
    {
        try await memberships(kinds, of: users, [1, 2], sql)
    }

    /// When the newest contributions to these streaks were received, the newest date first; at most so many of each.
    package static func newestContributions(to streaks: [StreakID], limit: Int, _ sql: some QueryExecutor) async throws
        -> [StreakID: [Instant]]
    {
        let rows = try await sql.query(
            """
            SELECT mine.id, newest.received_at FROM unnest(\(streaks)) AS mine (id) CROSS JOIN LATERAL (
                SELECT on_date, received_at FROM contribution WHERE streak_id = mine.id ORDER BY on_date DESC LIMIT \(limit)) AS newest
            ORDER BY mine.id, newest.on_date DESC
            """
        ).map { try $0.decode(as: (StreakID.self, Instant.self)) }
        return Dictionary(grouping: rows, by: \.0).mapValues { $0.map(\.1) }
    }

    private static func memberships(
        _ kinds: [StreakKind],
        of users: [UserID],
        _ statuses: [Int32],
        _ sql: some QueryExecutor
    ) async throws -> [Membership] {
        try await sql.query(
            """
            SELECT \(StreakRow.columns), person FROM unnest(\(users)) AS person
            JOIN streak_member m ON m.user_id = person AND m.left_at IS NULL CROSS JOIN LATERAL (
                SELECT * FROM streak WHERE id = m.streak_id AND kind = ANY(\(kinds.map(\.rawValue)))
                AND status = ANY(\(statuses)) OFFSET 0) AS mine
            """
        ).mapInSlices { Membership(user: try $0.get(at: StreakRow.columnCount), row: try StreakRow($0)) }
    }

    /// Every streak of a kind of a user, whatever became of it.
    package static func records(_ kind: StreakKind, of user: UserID, _ sql: some QueryExecutor) async throws
        -> [StreakTotals.Record]
    {
        try await sql.query(
            """
            SELECT s.status, s.current_count, s.longest_count, s.broken_by
            FROM streak_member m JOIN streak s ON s.id = m.streak_id AND s.kind = \(kind.rawValue)
            WHERE m.user_id = \(user) AND m.left_at IS NULL
            """
        ).map { row in
            StreakTotals.Record(
                status: try StreakState.Status(stored: try row.get(at: 0)),
                count: Int(try row.get(at: 1, as: Int32.self)),
                longest: Int(try row.get(at: 2, as: Int32.self)),
                brokenBy: try row.get(at: 3)
            )
        }
    }

    /// What the streaks of a user come to.
    package struct Totals: Sendable {
        package let active: Int32
        package let longest: Int32
        /// Whether the account was purged: then no totals are kept.
        package let isPurged: Bool
    }

    /// The running streaks and the longest count of each of these users, over the streaks of a kind.
    package static func totals(_ kind: StreakKind, of users: [UserID], _ sql: some QueryExecutor) async throws
        -> [UserID: Totals]
    {
        var totals: [UserID: Totals] = [:]
        for row in try await sql.query(totalsQuery(kind, users)) {
            let (user, active, longest, isPurged) = try row.decode(as: (UserID.self, Int32.self, Int32.self, Bool.self))
            totals[user] = Totals(active: active, longest: longest, isPurged: isPurged)
        }
        return totals
    }

    package static func totalsQuery(_ kind: StreakKind, _ users: [UserID]) -> Query {
        """
        SELECT person, count(*) FILTER (WHERE status = 1)::int, coalesce(max(longest_count), 0)::int,
            EXISTS (SELECT FROM purged_user WHERE user_id = person)
        FROM unnest(\(users)) AS person LEFT JOIN LATERAL (
            SELECT s.status, s.longest_count FROM streak_member m JOIN streak s ON s.id = m.streak_id
            WHERE m.user_id = person AND m.left_at IS NULL AND s.kind = \(kind.rawValue) OFFSET 0) AS mine ON true
        GROUP BY person
        """
    }

    /// On how many of these dates a user has contributed to streaks of a kind, by ISO weekday.
    package static func weekdays(
        _ kind: StreakKind,
        of user: UserID,
        in dates: ClosedRange<CalendarDate>,
        _ sql: some QueryExecutor
    ) async throws -> [Int: Int] {
        let rows = try await sql.query(
            """
            SELECT extract(isodow FROM on_date)::int, count(*)::int FROM (
                SELECT DISTINCT c.on_date FROM (\(mine(kind, user))) AS mine JOIN contribution c ON c.streak_id = mine.id
                WHERE c.user_id = \(user) AND c.on_date BETWEEN \(dates.lowerBound) AND \(dates.upperBound)) AS posted
            GROUP BY 1
            """
        )
        let counts = try rows.map { try $0.decode(as: (Int32.self, Int32.self)) }
        return Dictionary(counts.map { (Int($0.0), Int($0.1)) }) { first, _ in first }
    }

    /// What happened on these dates in all streaks of a kind of a user; dates on which nothing did are absent.
    package static func days(
        _ kind: StreakKind,
        of user: UserID,
        in dates: ClosedRange<CalendarDate>,
        _ sql: some QueryExecutor
    ) async throws -> [HeatMap.Day] {
        try await sql.query(
            """
            SELECT on_date, count(*) FILTER (WHERE is_yours)::int, count(*) FILTER (WHERE is_complete)::int FROM (
                SELECT c.on_date, bool_or(c.user_id = \(user)) AS is_yours, count(*) = mine.people AS is_complete
                FROM (\(mine(kind, user))) AS mine JOIN contribution c ON c.streak_id = mine.id
                WHERE c.on_date BETWEEN \(dates.lowerBound) AND \(dates.upperBound)
                GROUP BY c.streak_id, mine.people, c.on_date) AS shared
            GROUP BY on_date
            """
        ).map { row in
            let (date, posted, completed) = try row.decode(as: (CalendarDate.self, Int32.self, Int32.self))
            return HeatMap.Day(date: date, posted: Int(posted), completed: Int(completed))
        }
    }

    private static func mine(_ kind: StreakKind, _ user: UserID) -> Query {
        """
        SELECT s.id, cardinality(s.members) AS people FROM streak_member m
        JOIN streak s ON s.id = m.streak_id AND s.kind = \(kind.rawValue) WHERE m.user_id = \(user) AND m.left_at IS NULL
        """
    }
}
