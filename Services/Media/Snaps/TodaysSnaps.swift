internal import Kernel
internal import MediaDomain

/// A streak whose snaps of today are asked for.
struct AskedStreak: Sendable {
    let id: StreakID
    let friend: UserID
    let today: StreakToday
}

/// The two slots of a streak as a reader finds them (PH-4, PH-5).
struct TodaysSnaps: Sendable {
    var yours: ShownSnap?
    /// Never one that is locked.
    var friends: ShownSnap?
    /// Whose snap there was and its author has deleted.
    var isYoursDeleted = false
    var isFriendsDeleted = false
    var isLocked = false
    /// The reader blocks the friend, or is blocked: nothing of the friend's is shown, not even that there is something (SO-7).
    var isHidden = false
    /// The friend's newest capture, locked or not.
    var capturedAt: Instant?
}

extension SnapRepository {
    /// Today's snaps of these streaks, in their order and in one statement.
    func today(of streaks: [AskedStreak], for reader: UserID) async throws -> [TodaysSnaps] {
        var slots: [SnapSlot] = []
        slots.reserveCapacity(streaks.count * 2)
        for streak in streaks {
            slots += streak.today.ownDates.map { SnapSlot(streak: streak.id, date: $0, user: reader) }
            slots += streak.today.friendDates.map { SnapSlot(streak: streak.id, date: $0, user: streak.friend) }
        }
        var contents = try await contents(of: slots, for: reader)[...]
        return streaks.map { streak in
            let own = contents.prefix(streak.today.ownDates.count)
            contents.removeFirst(own.count)
            let friends = contents.prefix(streak.today.friendDates.count)
            contents.removeFirst(friends.count)
            return Self.today(of: streak.today, own: Array(own), friends: Array(friends))
        }
    }

    private static func today(of today: StreakToday, own: [SlotContent], friends: [SlotContent]) -> TodaysSnaps {
        var (mine, theirs): ([CalendarDate: ShownSnap], [CalendarDate: ShownSnap]) = ([:], [:])
        // What was posted and deleted opens the friend's all the same.
        var posted: Set<CalendarDate> = []
        for (date, content) in zip(today.ownDates, own) {
            mine[date] = content.snap
            if content.isPosted { posted.insert(date) }
        }
        var snaps = TodaysSnaps(yours: mine[today.yourDate])
        snaps.isYoursDeleted = snaps.yours == nil && posted.contains(today.yourDate)
        var hasDeleted = false
        for (date, content) in zip(today.friendDates, friends) {
            if case .hidden = content {
                return TodaysSnaps(yours: snaps.yours, isYoursDeleted: snaps.isYoursDeleted, isHidden: true)
            }
            theirs[date] = content.snap
            if case .deleted = content { hasDeleted = true }
        }
        switch today.friendSlot(posted: Set(theirs.keys), own: posted) {
        case .empty: snaps.isFriendsDeleted = hasDeleted
        case .locked(let date): (snaps.isLocked, snaps.capturedAt) = (true, theirs[date]?.capturedAt)
        case .shown(let date): (snaps.friends, snaps.capturedAt) = (theirs[date], theirs[date]?.capturedAt)
        }
        return snaps
    }
}
