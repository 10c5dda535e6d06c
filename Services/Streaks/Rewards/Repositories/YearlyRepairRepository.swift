internal import Database
internal import Kernel

/// Who gets a free repair a year, and when the next (CI-5).
enum YearlyRepairRepository {
    /// These users have reached 100: the first repair is due at once.
    static func begin(_ users: [UserID], at now: Instant, _ sql: Transaction) async throws {
        guard !users.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO yearly_repair (user_id, next_at) SELECT id, \(now) FROM unnest(\(users.sorted())) AS person (id)
            ON CONFLICT DO NOTHING
            """
        )
    }

    /// Locks up to `limit` users whose repair is due; those that another replica has locked are skipped (D7).
    static func lockDue(at now: Instant, limit: Int, _ sql: Transaction) async throws -> [UserID] {
        try await sql.query(dueQuery(at: now, limit: limit)).map { try $0.decode(as: UserID.self) }
    }

    static func dueQuery(at now: Instant, limit: Int) -> Query {
        """
        SELECT user_id FROM yearly_repair WHERE next_at <= \(now) ORDER BY next_at LIMIT \(limit) FOR UPDATE SKIP LOCKED
        """
    }

    static func oldestDue(_ database: Database) async throws -> Instant? {
        try await database.query("SELECT min(next_at) FROM yearly_repair").first?.decode(as: Instant?.self)
    }

    /// Notes that the due one was given: the next follows a year after it was due.
    static func note(_ users: [UserID], at now: Instant, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            UPDATE yearly_repair SET given = given + 1, next_at = greatest(next_at, \(now - .days(365))) + interval '365 days'
            WHERE user_id = ANY(\(users))
            """
        )
    }
}
