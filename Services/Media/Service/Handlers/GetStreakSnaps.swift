internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaDomain

extension MediaService {
    /// PH-4, PH-6: what the feed shows, of one streak.
    func getStreakSnaps(_ request: GetStreakSnapsRequest, context _: CallContext) async throws -> GetStreakSnapsReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        let asked = AskedStreak(
            id: try StreakID(parsing: request.streakID, field: "streak_id"),
            friend: try UserID(parsing: request.friendID, field: "friend_id"),
            today: try StreakToday(
                yourDate: request.yourDate,
                friendDate: request.friendDate,
                openFrom: request.openFrom,
                friendNewest: request.friendNewestDate
            )
        )
        let now = clock.now()
        guard let snaps = try await snaps.today(of: [asked], for: user).first else { throw ServiceError.internal }
        return GetStreakSnapsReply(
            yourSnap: try snaps.yours.map { try view($0, for: user, now) },
            friendSnap: try snaps.friends.map { try view($0, for: user, now) },
            locked: snaps.isLocked
        )
    }
}
