internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaDomain
internal import StreaksAPI

extension MediaService {
    /// PH-4, PH-5. A friend's snap that is locked is not shown, and its link not even made.
    ///
    /// One question to `streaks` and one statement.
    func getFeed(_: GetFeedRequest, context: CallContext) async throws -> GetFeedReply {
        let user = try context.requireUser()
        let now = clock.now()
        let open = try await streaks.listOpenDates(ListOpenDatesRequest(userID: user.description), context: context).streaks
        let asked = try open.map { streak in
            AskedStreak(
                id: try StreakID(parsing: streak.streakID, field: "streak_id"),
                friend: try UserID(parsing: streak.friendID, field: "friend_id"),
                today: try StreakToday(
                    yourDate: streak.yourDate,
                    friendDate: streak.friendDate,
                    openFrom: streak.openFrom,
                    friendNewest: streak.friendNewestDate
                )
            )
        }
        var items: [(item: FeedItem, capturedAt: Instant)] = []
        items.reserveCapacity(open.count)
        // The streak of two who block ends when streaks hears it; nothing is shown in the meantime (SO-7).
        for (streak, snaps) in zip(open, try await snaps.today(of: asked, for: user)) where !snaps.isHidden {
            let item = FeedItem(
                streakID: streak.streakID,
                friend: streak.friend,
                currentCount: streak.currentCount,
                yourTurn: snaps.yours == nil,
                waitingOnFriend: snaps.friends == nil && !snaps.isLocked,
                locked: snaps.isLocked,
                friendSnap: try snaps.friends.map { try view($0, for: user, now) },
                yourSnap: try snaps.yours.map { try view($0, for: user, now) },
                deadlineAt: streak.deadlineAt
            )
            items.append((item, snaps.capturedAt ?? .epoch))
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

extension StreakToday {
    /// From the dates of a message.
    ///
    /// - Throws: `INTERNAL` for one that is no date: the sender's fault.
    init(yourDate: String, friendDate: String, openFrom: String, friendNewest: String) throws {
        guard let yourDate = CalendarDate(yourDate), let friendDate = CalendarDate(friendDate),
            let openFrom = CalendarDate(openFrom), let friendNewest = CalendarDate(friendNewest)
        else { throw ServiceError.internal }
        self.init(yourDate: yourDate, friendDate: friendDate, openFrom: openFrom, friendNewest: friendNewest)
    }
}

extension SlotContent {
    var snap: ShownSnap? {
        guard case .snap(let snap) = self else { return nil }
        return snap
    }
}
