internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaDomain

/// Today's snaps of one streak as the feed shows them (PH-4, PH-6).
struct GetStreakSnaps: QueryHandler {
    let snaps: SnapRepository
    let views: SnapViews

    func handle(_ request: GetStreakSnapsRequest, _: CallContext) async throws -> GetStreakSnapsReply {
        let user = request.userID
        let asked = AskedStreak(
            id: request.streakID,
            friend: request.friendID,
            today: StreakToday(
                yourDate: request.yourDate,
                friendDate: request.friendDate,
                openFrom: request.openFrom,
                friendNewest: request.friendNewestDate,
                closedFrom: request.closedFrom
            )
        )
        guard let snaps = try await snaps.today(of: [asked], for: user).first else { throw ServiceError.internal }
        return GetStreakSnapsReply(
            yourSnap: try snaps.yours.map { try views.view($0, for: user) },
            friendSnap: try snaps.friends.map { try views.view($0, for: user) },
            locked: snaps.isLocked
        )
    }
}
