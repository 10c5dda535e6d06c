internal import Database
internal import Kernel
internal import StreaksDomain

/// A good that was used.
struct StoredPowerUp: Sendable {
    /// The numbers are those of the table and of the proto.
    enum State: Int32, Sendable {
        case active = 1
        case used = 2
        case returned = 3
        case expired = 4
    }

    let id: OperationID
    let user: UserID
    let good: StreakGood
    var kind: StreakKind?
    var date: CalendarDate?
    var state: State
    let usedAt: Instant
    var until: Instant?
    var dueAt: Instant?
    var helpedOn: CalendarDate?
    var returnedAt: Instant?
}

/// What users have used, and what became of it.
enum PowerUpRepository {
    static func insert(_ used: StoredPowerUp, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO power_up (id, user_id, good, kind, on_date, state, used_at, held_until, due_at, helped_on)
            VALUES (\(used.id), \(used.user), \(used.good.rawValue), \(used.kind?.rawValue), \(used.date), \(used.state.rawValue),
                \(used.usedAt), \(used.until), \(used.dueAt), \(used.helpedOn))
            """
        )
    }

    /// An insurance or a shield that is held since now; one that is known ends as this says.
    static func store(_ held: StoredPowerUp, _ sql: Transaction) throws {
        try sql.enqueue(
            """
            INSERT INTO power_up (id, user_id, good, kind, state, used_at, held_until, due_at)
            VALUES (\(held.id), \(held.user), \(held.good.rawValue), \(held.kind?.rawValue), \(held.state.rawValue),
                \(held.usedAt), \(held.until), \(held.dueAt))
            ON CONFLICT (id) DO UPDATE SET state = EXCLUDED.state, held_until = EXCLUDED.held_until
            """
        )
    }

    /// Each has kept this date.
    static func setUsed(_ dates: [OperationID: CalendarDate], _ sql: Transaction) throws {
        guard !dates.isEmpty else { return }
        let ids = dates.keys.sorted()
        try sql.enqueue(
            """
            UPDATE power_up SET state = 2, helped_on = new.date
            FROM unnest(\(ids), \(ids.map { dates[$0] })) AS new (id, date) WHERE power_up.id = new.id AND state <> 3
            """
        )
    }

    /// It was not needed for that date, and is held again; expired when its time is over by now.
    static func setHeld(_ id: OperationID, now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE power_up SET state = CASE WHEN held_until <= \(now) THEN 4 ELSE 1 END, helped_on = NULL
            WHERE id = \(id) AND state <> 3
            """
        )
    }

    /// It comes back to its user. - Returns: what and whose; nil when it is not known here, or has come back before.
    static func setReturned(_ id: OperationID, now: Instant, _ sql: Transaction) async throws -> (user: UserID, good: StreakGood)?
    {
        let row = try await sql.query(
            """
            UPDATE power_up SET state = 3, helped_on = NULL, returned_at = \(now) WHERE id = \(id) AND state <> 3
            RETURNING user_id, good
            """
        ).first
        guard let (user, name) = try row?.decode(as: (UserID.self, String.self)), let good = StreakGood(rawValue: name) else {
            return nil
        }
        return (user, good)
    }

    static func setState(_ state: StoredPowerUp.State, of id: OperationID, _ sql: Transaction) async throws {
        _ = try await sql.execute("UPDATE power_up SET state = \(state.rawValue) WHERE id = \(id) AND state = 1")
    }

    /// Those that are active and whose time is over, locked.
    static func lockDue(now: Instant, limit: Int, _ sql: Transaction) async throws -> [StoredPowerUp] {
        try await rows(
            "state = 1 AND due_at IS NOT NULL AND due_at <= \(now) ORDER BY due_at LIMIT \(limit) FOR UPDATE SKIP LOCKED",
            sql
        )
    }

    /// Since when the one that has waited longest is due.
    static func oldestDue(_ sql: some QueryExecutor) async throws -> Instant? {
        try await sql.query("SELECT min(due_at) FROM power_up WHERE state = 1 AND due_at IS NOT NULL").first?.decode(
            as: Instant?.self
        )
    }

    /// Those of a user that are active, or the last ones that are not any more; newest first.
    static func list(of user: UserID, isActive: Bool, limit: Int, _ sql: some QueryExecutor) async throws -> [StoredPowerUp] {
        let state: Query = isActive ? "state = 1" : "state <> 1"
        return try await rows("user_id = \(user) AND \(state) ORDER BY used_at DESC, id DESC LIMIT \(limit)", sql)
    }

    private static func rows(_ condition: Query, _ sql: some QueryExecutor) async throws -> [StoredPowerUp] {
        try await sql.query(
            """
            SELECT id, user_id, good, kind, on_date, state, used_at, held_until, due_at, helped_on, returned_at
            FROM power_up WHERE \(condition)
            """
        ).compactMap { row in
            let name: String = try row.get("good")
            guard let good = StreakGood(rawValue: name) else { return nil }
            return StoredPowerUp(
                id: try row.get("id"),
                user: try row.get("user_id"),
                good: good,
                kind: try row.get("kind", as: Int32?.self).flatMap { StreakKind(rawValue: $0) },
                date: try row.get("on_date", as: CalendarDate?.self),
                state: StoredPowerUp.State(rawValue: try row.get("state")) ?? .used,
                usedAt: try row.get("used_at"),
                until: try row.get("held_until", as: Instant?.self),
                dueAt: try row.get("due_at", as: Instant?.self),
                helpedOn: try row.get("helped_on", as: CalendarDate?.self),
                returnedAt: try row.get("returned_at", as: Instant?.self)
            )
        }
    }
}
