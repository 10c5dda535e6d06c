internal import Database
internal import Kernel
internal import StreaksCore

/// Which streak a circle has, and when the circle is reminded of it.
enum TeamRepository {
    /// A team.
    struct Team: Sendable {
        let circle: CircleID
        let streak: StreakID
        /// Of the circle; empty while it is not known.
        let name: String
        /// The newest date whose reminder was handled.
        let remindedFor: CalendarDate?
    }

    private static let selection: Query = """
        SELECT t.circle_id, t.streak_id, coalesce(c.name, ''), t.reminded_for FROM team t
        LEFT JOIN circle_replica c ON c.circle_id = t.circle_id
        """

    static func insert(_ circle: CircleID, _ streak: StreakID, _ sql: Transaction) async throws {
        _ = try await sql.execute("INSERT INTO team (circle_id, streak_id) VALUES (\(circle), \(streak))")
    }

    /// The team of a circle; nil while it has none.
    static func find(_ circle: CircleID, _ sql: some QueryExecutor) async throws -> Team? {
        try await sql.query("\(selection) WHERE t.circle_id = \(circle)").first.map(team)
    }

    /// The teams of these streaks.
    static func teams(of streaks: [StreakID], _ sql: some QueryExecutor) async throws -> [StreakID: Team] {
        let found = try await sql.query("\(selection) WHERE t.streak_id = ANY(\(streaks))").map(team)
        return Dictionary(found.map { ($0.streak, $0) }) { first, _ in first }
    }

    /// The teams of these circles.
    static func teams(of circles: [CircleID], _ sql: some QueryExecutor) async throws -> [Team] {
        try await sql.query("\(selection) WHERE t.circle_id = ANY(\(circles)) ORDER BY t.streak_id").map(team)
    }

    /// Deletes a team with its check-ins; its circle is deleted.
    static func delete(_ circle: CircleID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM team WHERE circle_id = \(circle)")
        _ = try await sql.execute("DELETE FROM team_check_in WHERE circle_id = \(circle)")
    }

    /// Stores when teams may be reminded next; nil: not before their streaks change.
    static func schedule(_ teams: [(circle: CircleID, at: Instant?)], _ sql: Transaction) async throws {
        guard !teams.isEmpty else { return }
        _ = try await sql.execute(
            """
            UPDATE team SET remind_at = new.at FROM unnest(\(teams.map(\.circle)), \(teams.map(\.at))) AS new (id, at)
            WHERE circle_id = new.id AND remind_at IS DISTINCT FROM new.at
            """
        )
    }

    /// Locks up to `limit` teams that may have to be reminded; those that another replica has locked are skipped (D7).
    static func lockDue(at now: Instant, limit: Int, _ sql: Transaction) async throws -> [Team] {
        try await sql.query(dueQuery(at: now, limit: limit)).map(team)
    }

    static func dueQuery(at now: Instant, limit: Int) -> Query {
        "\(selection) WHERE t.remind_at <= \(now) ORDER BY t.remind_at LIMIT \(limit) FOR UPDATE OF t SKIP LOCKED"
    }

    /// The streaks of teams, without locks.
    static func rows(_ streaks: [StreakID], _ sql: some QueryExecutor) async throws -> [StreakRow] {
        try await sql.query("SELECT \(StreakRow.columns) FROM streak WHERE id = ANY(\(streaks)) AND status <> 3")
            .map(StreakRow.init)
    }

    /// Since when the team that has waited longest is due, or will be.
    static func oldestDue(_ database: Database) async throws -> Instant? {
        try await database.query("SELECT min(remind_at) FROM team").first?.decode(as: Instant?.self)
    }

    /// Stores what became of a reminder.
    static func noteReminded(_ circle: CircleID, of date: CalendarDate?, next: Instant?, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            "UPDATE team SET remind_at = \(next), reminded_for = coalesce(\(date), reminded_for) WHERE circle_id = \(circle)"
        )
    }

    private static func team(_ row: Row) throws -> Team {
        Team(
            circle: try row.get(at: 0),
            streak: try row.get(at: 1),
            name: try row.get(at: 2),
            remindedFor: try row.get(at: 3)
        )
    }
}
