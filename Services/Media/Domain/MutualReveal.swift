public import Kernel

/// Who may see what of the date that a snap is credited to (PH-4).
///
/// What a clock calls today has no part in it: only what the reader has posted for, and which dates are over for the streak (SD-4). Dates
/// that are over stay over, so what was shown once is never locked again. What was not over when the friendship ended is never opened by that.
public enum MutualReveal {
    /// Whether a friend's snap of a date is kept from the reader: the reader has not posted for it, and it is not over.
    ///
    /// - Parameter openFrom: the earliest date that is not over for the streak, or was not when the friendship ended.
    public static func isLocked(_ date: CalendarDate, youPosted: Bool, openFrom: CalendarDate) -> Bool {
        !youPosted && date >= openFrom
    }
}

/// The dates of a streak that a feed shows as today's (PH-5).
///
/// Two clocks may show different dates: then each of the dates that are not over for the streak is today's.
public struct StreakToday: Hashable, Sendable {
    /// The reader's present date: that of their own slot.
    public let yourDate: CalendarDate
    /// The dates of which one is shown in the friend's slot, oldest first.
    public let friendDates: ClosedRange<CalendarDate>
    /// The earliest date that is not open to who has not posted for it.
    private let lockedFrom: CalendarDate

    /// - Parameters:
    ///   - yourDate: the reader's present date.
    ///   - friendDate: the friend's present date.
    ///   - openFrom: the earliest date that is not over for the streak.
    ///   - friendNewest: the newest date the friend's clock has shown; later than `friendDate` after travel west.
    ///   - closedFrom: the first date that stays closed because the friendship has ended; nil while it lasts.
    public init(
        yourDate: CalendarDate,
        friendDate: CalendarDate,
        openFrom: CalendarDate,
        friendNewest: CalendarDate,
        closedFrom: CalendarDate? = nil
    ) {
        self.yourDate = yourDate
        lockedFrom = min(openFrom, closedFrom ?? openFrom)
        let first = min(openFrom, friendDate)
        friendDates = first...max(first, friendNewest)
    }

    /// The dates to load of the reader: their own slot's, and those that decide what they may see of the friend's.
    public var ownDates: [CalendarDate] { friendDates.contains(yourDate) ? Array(friendDates) : [yourDate] + Array(friendDates) }

    /// What is in the friend's slot.
    public enum FriendSlot: Hashable, Sendable {
        /// The friend has posted for none of the dates.
        case empty
        /// The friend has posted, last for this date, and the reader may see none of it yet.
        case locked(CalendarDate)
        /// The snap of this date.
        case shown(CalendarDate)
    }

    /// What the reader finds in the friend's slot: the newest snap they may see.
    ///
    /// - Parameters:
    ///   - posted: the dates the friend has posted for.
    ///   - own: the dates the reader has posted for.
    public func friendSlot(posted: Set<CalendarDate>, own: Set<CalendarDate>) -> FriendSlot {
        let dates = posted.filter(friendDates.contains)
        let seen = dates.filter { !MutualReveal.isLocked($0, youPosted: own.contains($0), openFrom: lockedFrom) }
        if let newest = seen.max() { return .shown(newest) }
        return dates.max().map { .locked($0) } ?? .empty
    }
}
