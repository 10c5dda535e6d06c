internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaDomain
internal import StreaksAPI

/// Today's snaps of the caller's active streaks (PH-4, PH-5): one question to `streaks` and one statement. A friend's snap that is locked is
/// not shown, and its link not even made.
struct GetFeed: QueryHandler {
    let snaps: SnapRepository
    let views: SnapViews
    let streaks: MutualClient

    func handle(_: GetFeedRequest, _ context: CallContext) async throws -> GetFeedReply {
        let user = try context.requireUser()
        let open = try await streaks.listOpenDates(ListOpenDatesRequest(userID: user), context: context).streaks
        let asked = open.map { AskedStreak($0) }
        var items: [(item: FeedItem, capturedAt: Instant)] = []
        items.reserveCapacity(open.count)
        // A block ends the streak of the two when `streaks` consumes it; nothing is shown in the meantime (SO-7).
        for ((streak, asked), snaps) in zip(zip(open, asked), try await snaps.today(of: asked, for: user)) where !snaps.isHidden {
            let item = FeedItem(
                streakID: asked.id,
                friend: streak.friend,
                currentCount: streak.currentCount,
                yourTurn: snaps.yours == nil && !snaps.isYoursDeleted,
                waitingOnFriend: snaps.friends == nil && !snaps.isLocked && !snaps.isFriendsDeleted,
                locked: snaps.isLocked,
                friendSnap: try snaps.friends.map { try views.view($0, for: user) },
                yourSnap: try snaps.yours.map { try views.view($0, for: user) },
                deadlineAt: streak.deadlineAt,
                yourSnapDeleted: snaps.isYoursDeleted,
                friendSnapDeleted: snaps.isFriendsDeleted
            )
            items.append((item, snaps.capturedAt ?? .epoch))
        }
        items.sort { ($0.capturedAt, $1.item.streakID) > ($1.capturedAt, $0.item.streakID) }
        return GetFeedReply(items: items.map(\.item))
    }
}

extension AskedStreak {
    fileprivate init(_ streak: OpenDate) {
        let today = StreakToday(
            yourDate: streak.yourDate,
            friendDate: streak.friendDate,
            openFrom: streak.openFrom,
            friendNewest: streak.friendNewestDate
        )
        self.init(id: streak.streakID, friend: streak.friendID, today: today)
    }
}
