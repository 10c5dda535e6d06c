internal import Bus
internal import Kernel
internal import MediaAPI
internal import Replicas
internal import StreaksAPI

extension MediaService {
    /// PH-4, PH-5. A friend's snap of today is locked, and its link not even made, until you have posted for that streak.
    func getFeed(_: GetFeedRequest, context: CallContext) async throws -> GetFeedReply {
        let user = try context.requireUser()
        let now = clock.now()
        let all = try await streaks.listOpenDates(ListOpenDatesRequest(userID: user.description), context: context).streaks
        // The streak of two who block ends when streaks hears it; nothing is shown in the meantime (SO-7).
        let hidden = try await blocks.hidden(from: user, among: all.compactMap { UserID($0.friendID) })
        let open = all.filter { streak in UserID(streak.friendID).map { !hidden.contains($0) } ?? false }
        let yesterday = Zone.utc.date(at: now).advanced(by: -1)
        let shown = Dictionary(
            try await snaps.shown(in: open.compactMap { StreakID($0.streakID) }, since: yesterday).map { ($0.slot, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        let items = try open.map { streak -> (FeedItem, Instant?) in
            let yours = SnapSlot(streak.streakID, user, streak.yourDate).flatMap { shown[$0] }
            let friends = SnapSlot(streak.streakID, UserID(streak.friendID), streak.friendDate).flatMap { shown[$0] }
            let isLocked = friends != nil && yours == nil
            let item = FeedItem(
                streakID: streak.streakID,
                friend: streak.friend,
                currentCount: streak.currentCount,
                yourTurn: yours == nil,
                waitingOnFriend: friends == nil,
                locked: isLocked,
                friendSnap: isLocked ? nil : try friends.map { try view($0, now) },
                yourSnap: try yours.map { try view($0, now) },
                deadlineAt: streak.deadlineAt
            )
            return (item, friends?.capturedAt)
        }
        let newestFirst = items.sorted { ($0.1 ?? .epoch, $1.0.streakID) > ($1.1 ?? .epoch, $0.0.streakID) }
        return GetFeedReply(items: newestFirst.map(\.0))
    }

    /// A snap as a reader sees it who may.
    func view(_ snap: ShownSnap, _ now: Instant) throws -> MediaAPI.Snap {
        MediaAPI.Snap(
            id: snap.id.description,
            userID: snap.slot.user.description,
            photoURL: try links.link(snap.displayKey, now: now),
            thumbnailURL: try links.link(snap.thumbnailKey, now: now),
            width: snap.width,
            height: snap.height,
            caption: snap.caption,
            capturedAt: snap.capturedAt,
            postedAt: snap.postedAt,
            onTime: snap.isOnTime
        )
    }
}

extension SnapSlot {
    /// From what streaks says of an open date.
    fileprivate init?(_ streak: String, _ user: UserID?, _ date: String) {
        guard let streak = StreakID(streak), let user, let date = CalendarDate(date) else { return nil }
        self.init(streak: streak, date: date, user: user)
    }
}
