internal import Database
internal import Kernel

/// Posted snaps.
struct SnapRepository: Sendable {
    let database: Database

    /// Shows no snap of a user in any streak: for accounts that are purged. By the index on the snap.
    static func hideAll(of user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM streak_snap WHERE snap_id IN (SELECT id FROM snap WHERE user_id = \(user))")
    }

    /// A snap that is counted, and which streaks show it for whose date.
    ///
    /// - Parameter capturedAt: as far as the client's clock is believed.
    func insert(
        _ operation: SnapOperation,
        capturedAt: Instant,
        isOnTime: Bool,
        dates: [(StreakID, CalendarDate)],
        _ sql: Transaction
    ) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO snap (id, user_id, caption, prompt_id, captured_at, posted_at, on_time, display_key, thumbnail_key, width, height)
            VALUES (\(operation.id), \(operation.user), \(operation.caption), \(operation.promptID),
                \(capturedAt), \(operation.receivedAt), \(isOnTime), \(operation.displayKey),
                \(operation.thumbnailKey), \(operation.width), \(operation.height))
            """
        )
        _ = try await sql.execute(
            """
            INSERT INTO streak_snap (streak_id, on_date, user_id, snap_id)
            SELECT streak_id, on_date, \(operation.user), \(operation.id)
            FROM unnest(\(dates.map(\.0)), \(dates.map(\.1))) AS counted (streak_id, on_date)
            """
        )
    }
}
