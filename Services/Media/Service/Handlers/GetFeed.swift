internal import Bus
internal import Kernel
internal import MediaAPI
internal import StreaksAPI

extension MediaService {
    /// PH-4, PH-5. A friend's snap of today is locked, and its link not even made, until you have posted for that streak.
    ///
    /// One question to `streaks` and one statement.
    func getFeed(_: GetFeedRequest, context: CallContext) async throws -> GetFeedReply {
        let user = try context.requireUser()
        let now = clock.now()
        let open = try await streaks.listOpenDates(ListOpenDatesRequest(userID: user.description), context: context).streaks
        // Two a streak: yours, then the friend's.
        var slots: [SnapSlot] = []
        slots.reserveCapacity(open.count * 2)
        for streak in open {
            let id = try StreakID(parsing: streak.streakID, field: "streak_id")
            let friend = try UserID(parsing: streak.friendID, field: "friend_id")
            guard let yourDate = CalendarDate(streak.yourDate), let friendDate = CalendarDate(streak.friendDate) else {
                throw ServiceError.internal
            }
            slots.append(SnapSlot(streak: id, date: yourDate, user: user))
            slots.append(SnapSlot(streak: id, date: friendDate, user: friend))
        }
        let contents = try await snaps.contents(of: slots, for: user)
        var items: [(item: FeedItem, capturedAt: Instant)] = []
        items.reserveCapacity(open.count)
        for (index, streak) in open.enumerated() {
            let (yours, friends) = (contents[2 * index].snap, contents[2 * index + 1].snap)
            // The streak of two who block ends when streaks hears it; nothing is shown in the meantime (SO-7).
            if case .hidden = contents[2 * index + 1] { continue }
            let isLocked = friends != nil && yours == nil
            let item = FeedItem(
                streakID: streak.streakID,
                friend: streak.friend,
                currentCount: streak.currentCount,
                yourTurn: yours == nil,
                waitingOnFriend: friends == nil,
                locked: isLocked,
                friendSnap: isLocked ? nil : try friends.map { try view($0, for: user, now) },
                yourSnap: try yours.map { try view($0, for: user, now) },
                deadlineAt: streak.deadlineAt
            )
            items.append((item, friends?.capturedAt ?? .epoch))
        }
        items.sort { ($0.capturedAt, $1.item.streakID) > ($1.capturedAt, $0.item.streakID) }
        return GetFeedReply(items: items.map(\.item))
    }

    /// A snap as a reader sees it who may.
    func view(_ snap: ShownSnap, for reader: UserID, _ now: Instant) throws -> MediaAPI.Snap {
        let viewer = reader == snap.user ? nil : reader
        return MediaAPI.Snap(
            id: snap.id.description,
            userID: snap.user.description,
            photoURL: try links.link(snap.displayKey, for: viewer, now: now),
            thumbnailURL: try links.link(snap.thumbnailKey, for: viewer, now: now),
            width: snap.width,
            height: snap.height,
            caption: snap.caption,
            capturedAt: snap.capturedAt,
            postedAt: snap.postedAt,
            onTime: snap.isOnTime
        )
    }
}

extension SlotContent {
    var snap: ShownSnap? {
        guard case .snap(let snap) = self else { return nil }
        return snap
    }
}
