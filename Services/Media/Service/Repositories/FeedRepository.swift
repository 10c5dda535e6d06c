internal import Database
internal import Kernel

/// A snap as a streak shows it.
struct ShownSnap: Sendable {
    let streak: StreakID
    let date: CalendarDate
    let user: UserID
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
            let (streak, date, user, id, caption, captured, posted, onTime, display, thumbnail, width, height) = try row.decode(
                as: (
                    StreakID.self, CalendarDate.self, UserID.self, SnapID.self, String?.self, Instant.self, Instant.self,
                    Bool.self,
                    String.self, String.self, Int32.self, Int32.self
                )
            )
            return ShownSnap(
                streak: streak,
                date: date,
                user: user,
                id: id,
                caption: caption,
                capturedAt: captured,
                postedAt: posted,
                isOnTime: onTime,
                displayKey: display,
                thumbnailKey: thumbnail,
                width: width,
                height: height
            )
        }
    }
}
