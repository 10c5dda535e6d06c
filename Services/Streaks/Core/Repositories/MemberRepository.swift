internal import Database
internal import Kernel
internal import StreaksDomain

/// Whose streaks are (D15): `streak_member`.
enum MemberRepository {
    /// A present or former member of a kind whose members may change.
    struct History: Sendable {
        let streak: StreakID
        let user: UserID
        let joinedAt: Instant
        let leftAt: Instant?
    }

    /// All present and former members of these streaks, in the order of their ids, and each with every time they were one.
    static func histories(of streaks: [StreakID], _ sql: some QueryExecutor) async throws -> [History] {
        try await sql.query(
            """
            SELECT streak_id, user_id, joined_at, left_at FROM streak_member WHERE streak_id = ANY(\(streaks))
            UNION ALL SELECT streak_id, user_id, joined_at, left_at FROM streak_former_stay WHERE streak_id = ANY(\(streaks))
            ORDER BY streak_id, user_id, joined_at
            """
        ).map { row in
            History(
                streak: try row.get(at: 0),
                user: try row.get(at: 1),
                joinedAt: try row.get(at: 2),
                leftAt: try row.get(at: 3)
            )
        }
    }

    static func insert(_ users: [UserID], into streak: StreakID, at instant: Instant, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            INSERT INTO streak_member (streak_id, user_id, joined_at)
            SELECT \(streak), user_id, \(instant) FROM unnest(\(users.sorted())) AS member (user_id)
            """
        )
    }

    /// Users have become members, again or for the first time: the time of before is kept.
    static func join(_ joined: [(streak: StreakID, user: UserID, at: Instant)], _ sql: Transaction) throws {
        guard !joined.isEmpty else { return }
        let (streaks, users) = (joined.map(\.streak), joined.map(\.user))
        try sql.enqueue(
            """
            INSERT INTO streak_former_stay (streak_id, user_id, joined_at, left_at)
            SELECT m.streak_id, m.user_id, m.joined_at, m.left_at FROM streak_member m
            JOIN unnest(\(streaks), \(users)) AS new (streak_id, user_id) USING (streak_id, user_id) WHERE m.left_at IS NOT NULL
            """
        )
        try sql.enqueue(
            """
            INSERT INTO streak_member (streak_id, user_id, joined_at)
            SELECT * FROM unnest(\(streaks), \(users), \(joined.map(\.at)))
            ON CONFLICT (streak_id, user_id) DO UPDATE SET joined_at = EXCLUDED.joined_at, left_at = NULL
            """
        )
    }

    /// Members have left.
    static func leave(_ left: [(streak: StreakID, user: UserID, at: Instant)], _ sql: Transaction) throws {
        guard !left.isEmpty else { return }
        try sql.enqueue(
            """
            UPDATE streak_member m SET left_at = new.at
            FROM unnest(\(left.map(\.streak)), \(left.map(\.user)), \(left.map(\.at))) AS new (streak_id, user_id, at)
            WHERE m.streak_id = new.streak_id AND m.user_id = new.user_id AND m.left_at IS NULL
            """
        )
    }

    /// The rows of `streak` of a user that meet a condition.
    ///
    /// By the member's entries: OFFSET 0 keeps the planner, whatever statistics say, from joining with all streaks instead.
    static func rows(of user: UserID, only streak: StreakID? = nil, _ condition: Query) -> Query {
        let only: Query = streak.map { "AND m.streak_id = \($0)" } ?? ""
        return """
            SELECT s.* FROM streak_member m CROSS JOIN LATERAL (
                SELECT * FROM streak WHERE id = m.streak_id AND \(condition) OFFSET 0) AS s
            WHERE m.user_id = \(user) AND m.left_at IS NULL \(only)
            """
    }

    /// The streaks of a user of some statuses.
    ///
    /// - Parameters:
    ///   - kinds: nil means all.
    ///   - due: only those with a date that must be settled by then; nil means all.
    static func streaks(
        of user: UserID,
        kinds: [StreakKind]? = nil,
        _ statuses: [StreakState.Status],
        dueBy due: Instant? = nil,
        _ sql: some QueryExecutor
    ) async throws -> [StreakID] {
        let ofKind: Query = kinds.map { "AND kind = ANY(\($0.map(\.rawValue)))" } ?? ""
        let isDue: Query = due.map { "AND next_due <= \($0)" } ?? ""
        return try await ids(of: user, "status = ANY(\(statuses.map(\.stored))) \(ofKind) \(isDue)", sql)
    }

    /// The streaks of a user that stopped at a break after an instant.
    static func broken(
        of user: UserID,
        kinds: [StreakKind] = StreakKind.allCases,
        since instant: Instant,
        _ sql: some QueryExecutor
    ) async throws -> [StreakID] {
        let condition: Query = """
            kind = ANY(\(kinds.map(\.rawValue))) AND status = \(StreakState.Status.broken.stored) AND broken_at >= \(instant)
            """
        return try await ids(of: user, condition, sql)
    }

    /// The streaks of a kind of a user that stopped at a break, with this date or a later one missed, and not by a decision (SO-9).
    static func broken(of user: UserID, kind: StreakKind, missing date: CalendarDate, _ sql: some QueryExecutor) async throws
        -> [StreakID]
    {
        let condition: Query = """
            kind = \(kind.rawValue) AND status = \(StreakState.Status.broken.stored) AND missed_date >= \(date)
                AND broken_off_at IS NULL
            """
        return try await ids(of: user, condition, sql)
    }

    /// The streaks of a kind of a user of some statuses, and when each began.
    static func starts(
        of user: UserID,
        kind: StreakKind,
        _ statuses: [StreakState.Status],
        _ sql: some QueryExecutor
    ) async throws -> [(id: StreakID, startedAt: Instant)] {
        let condition: Query = "kind = \(kind.rawValue) AND status = ANY(\(statuses.map(\.stored)))"
        return try await sql.query("SELECT id, started_at FROM (\(rows(of: user, condition))) AS mine").map { row in
            (try row.get(at: 0), try row.get(at: 1))
        }
    }

    /// The streaks of a kind that users have left since an instant.
    static func left(_ kind: StreakKind, by users: [UserID], since instant: Instant, _ sql: some QueryExecutor) async throws
        -> [UserID: [StreakID]]
    {
        let rows = try await sql.query(
            """
            SELECT m.user_id, m.streak_id FROM streak_member m JOIN streak s ON s.id = m.streak_id AND s.kind = \(kind.rawValue)
            WHERE m.user_id = ANY(\(users)) AND m.left_at >= \(instant)
            """
        ).map { try $0.decode(as: (UserID.self, StreakID.self)) }
        return Dictionary(grouping: rows, by: \.0).mapValues { $0.map(\.1) }
    }

    /// The streaks of a kind that all of these users share, ended ones too.
    static func shared(_ kind: StreakKind, by users: [UserID], _ sql: some QueryExecutor) async throws -> [StreakID] {
        guard let first = users.first else { return [] }
        return try await ids(of: first, "kind = \(kind.rawValue) AND members @> \(users)", sql)
    }

    private static func ids(of user: UserID, _ condition: Query, _ sql: some QueryExecutor) async throws -> [StreakID] {
        try await sql.query("SELECT id FROM (\(rows(of: user, condition))) AS mine").map { try $0.decode(as: StreakID.self) }
    }
}
