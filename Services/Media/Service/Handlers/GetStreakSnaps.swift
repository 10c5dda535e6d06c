internal import Bus
internal import Kernel
internal import MediaAPI

extension MediaService {
    /// PH-4, PH-6: what the feed shows, of one streak.
    func getStreakSnaps(_ request: GetStreakSnapsRequest, context _: CallContext) async throws -> GetStreakSnapsReply {
        let streak = try StreakID(parsing: request.streakID, field: "streak_id")
        let user = try UserID(parsing: request.userID, field: "user_id")
        let friend = try UserID(parsing: request.friendID, field: "friend_id")
        func date(_ text: String, _ field: String) throws -> CalendarDate {
            guard let date = CalendarDate(text) else { throw ServiceError.validation(field: field, "must be a date") }
            return date
        }
        let yourDate = try date(request.yourDate, "your_date")
        let friendDate = try date(request.friendDate, "friend_date")
        let now = clock.now()
        let slots = [
            SnapSlot(streak: streak, date: yourDate, user: user), SnapSlot(streak: streak, date: friendDate, user: friend),
        ]
        let contents = try await snaps.contents(of: slots, for: user)
        let (yours, friends) = (contents[0].snap, contents[1].snap)
        let isLocked = friends != nil && yours == nil
        return GetStreakSnapsReply(
            yourSnap: try yours.map { try view($0, for: user, now) },
            friendSnap: isLocked ? nil : try friends.map { try view($0, for: user, now) },
            locked: isLocked
        )
    }
}
