internal import Database
internal import Kernel

/// Dates whose breaks were undone.
enum RestoreRepository {
    struct Restored: Sendable {
        let streak: StreakID
        let user: UserID
        let date: CalendarDate
    }

    static func add(_ restored: [Restored], _ sql: Transaction) async throws {
        guard !restored.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO typed_restore (streak_id, user_id, on_date)
            SELECT * FROM unnest(\(restored.map(\.streak)), \(restored.map(\.user)), \(restored.map(\.date))) ON CONFLICT DO NOTHING
            """
        )
    }

    static func dates(of streak: StreakID, _ sql: some QueryExecutor) async throws -> Set<CalendarDate> {
        Set(
            try await sql.query("SELECT on_date FROM typed_restore WHERE streak_id = \(streak)").map {
                try $0.decode(as: CalendarDate.self)
            }
        )
    }
}
