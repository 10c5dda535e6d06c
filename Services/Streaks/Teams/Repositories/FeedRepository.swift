internal import Database
internal import Kernel
internal import Replicas
internal import ServiceRuntime

/// A check-in as the feed of a circle has it.
struct StoredCheckIn: Sendable {
    let id: OperationID
    let user: UserID
    let date: CalendarDate
    let at: Instant
    let isToCircle: Bool
    let streakCount: Int32?
}

/// Check-ins of members, as the feeds of their circles show them.
struct FeedRepository: Sendable {
    let database: Database

    /// Notes a check-in in the feeds of circles, once a date; a later one of the date adds what was not known.
    static func add(_ checkIn: StoredCheckIn, to circles: [CircleID], ids: [OperationID], _ sql: Transaction) async throws {
        guard !circles.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO team_check_in AS known (id, circle_id, user_id, on_date, checked_in_at, to_circle, streak_count)
            SELECT new.id, new.circle, \(checkIn.user)::uuid, \(checkIn.date)::date, \(checkIn.at)::timestamptz,
                \(checkIn.isToCircle)::boolean, \(checkIn.streakCount)::integer
            FROM unnest(\(ids), \(circles)) AS new (id, circle)
            ON CONFLICT (circle_id, user_id, on_date) DO UPDATE SET streak_count = EXCLUDED.streak_count
            WHERE EXCLUDED.streak_count IS NOT NULL
            """
        )
    }

    /// The check-ins of a circle's present members that a reader may see, the newest first (SO-7).
    func page(of circle: CircleID, seenBy reader: UserID, before cursor: PageCursor?, limit: Int) async throws -> [StoredCheckIn]
    {
        var position: Query = ""
        if let cursor {
            let id: OperationID = cursor.id()
            position = "AND (f.checked_in_at, f.id) < (\(cursor.instant), \(id))"
        }
        return try await database.query(
            """
            SELECT f.id, f.user_id, f.on_date, f.checked_in_at, f.to_circle, f.streak_count FROM team_check_in f
            WHERE f.circle_id = \(circle) \(position) AND \(BlockReplica.isShown("f.user_id", to: reader))
              AND EXISTS (SELECT 1 FROM circle_member_replica m WHERE m.circle_id = f.circle_id AND m.user_id = f.user_id)
            ORDER BY f.checked_in_at DESC, f.id DESC LIMIT \(limit)
            """
        ).map { row in
            StoredCheckIn(
                id: try row.get(at: 0),
                user: try row.get(at: 1),
                date: try row.get(at: 2),
                at: try row.get(at: 3),
                isToCircle: try row.get(at: 4),
                streakCount: try row.get(at: 5)
            )
        }
    }
}
