internal import Database
internal import Kernel

/// Where a streak shows a snap: for whose date.
struct SnapSlot: Hashable, Sendable {
    let streak: StreakID
    let date: CalendarDate
    let user: UserID
}

/// A snap as a streak shows it.
struct ShownSnap: Sendable {
    let slot: SnapSlot
    let id: SnapID
    let caption: String?
    let capturedAt: Instant
    let postedAt: Instant
    let isOnTime: Bool
    let displayKey: String
    let thumbnailKey: String
    let width: Int32
    let height: Int32
}

extension SnapRepository {
    /// Whose a snap is; nil when there is none.
    func owner(of id: SnapID) async throws -> UserID? {
        try await database.query("SELECT user_id FROM snap WHERE id = \(id)").first?.decode(as: UserID.self)
    }

    /// The snaps of these streaks since a date.
    func shown(in streaks: [StreakID], since date: CalendarDate) async throws -> [ShownSnap] {
        guard !streaks.isEmpty else { return [] }
        return try await database.query(
            """
            SELECT s.streak_id, s.on_date, s.user_id, p.id, p.caption, p.captured_at, p.posted_at, p.on_time, p.display_key,
                p.thumbnail_key, p.width, p.height
            FROM streak_snap s JOIN snap p ON p.id = s.snap_id WHERE s.streak_id = ANY(\(streaks)) AND s.on_date >= \(date)
                AND NOT EXISTS (SELECT 1 FROM photo_owner o WHERE o.user_id = s.user_id AND o.is_withheld)
            """
        ).map { row in
            ShownSnap(
                slot: SnapSlot(streak: try row.get(at: 0), date: try row.get(at: 1), user: try row.get(at: 2)),
                id: try row.get(at: 3),
                caption: try row.get(at: 4),
                capturedAt: try row.get(at: 5),
                postedAt: try row.get(at: 6),
                isOnTime: try row.get(at: 7),
                displayKey: try row.get(at: 8),
                thumbnailKey: try row.get(at: 9),
                width: try row.get(at: 10),
                height: try row.get(at: 11)
            )
        }
    }
}
