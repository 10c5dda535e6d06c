internal import Database
internal import Kernel

/// A date of a user's check-in streak.
struct FrozenDate: Hashable, Sendable {
    let user: UserID
    let date: CalendarDate
}

/// The dates that freezes hold.
enum FrozenDateRepository {
    static func insert(_ dates: [FrozenDate], _ sql: Transaction) async throws {
        guard !dates.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO frozen_date (user_id, on_date)
            SELECT user_id, on_date FROM unnest(\(dates.map(\.user)), \(dates.map(\.date))) AS frozen (user_id, on_date)
            ORDER BY user_id, on_date ON CONFLICT DO NOTHING
            """
        )
    }

    static func delete(_ dates: [FrozenDate], _ sql: Transaction) async throws {
        guard !dates.isEmpty else { return }
        _ = try await sql.execute(
            """
            DELETE FROM frozen_date f USING unnest(\(dates.map(\.user)), \(dates.map(\.date))) AS returned (user_id, on_date)
            WHERE f.user_id = returned.user_id AND f.on_date = returned.on_date
            """
        )
    }

    /// How many there are of each of these users; those without any are absent.
    static func counts(of users: [UserID], _ sql: some QueryExecutor) async throws -> [UserID: Int] {
        let rows = try await sql.query(
            "SELECT user_id, count(*)::int FROM frozen_date WHERE user_id = ANY(\(users)) GROUP BY user_id"
        ).map { try $0.decode(as: (UserID.self, Int32.self)) }
        return Dictionary(rows.map { ($0.0, Int($0.1)) }) { first, _ in first }
    }

    /// The users of whom a freeze holds a date from the given one on.
    static func anyFrozen(since dates: [FrozenDate], _ sql: some QueryExecutor) async throws -> Set<UserID> {
        let rows = try await sql.query(
            """
            SELECT start.user_id FROM unnest(\(dates.map(\.user)), \(dates.map(\.date))) AS start (user_id, on_date)
            WHERE EXISTS (SELECT FROM frozen_date f WHERE f.user_id = start.user_id AND f.on_date >= start.on_date)
            """
        )
        return Set(try rows.map { try $0.decode(as: UserID.self) })
    }
}
