public import Kernel

/// A time of a user's date at which a reminder of their solo streaks may be due (NO-5). What it says is decided then.
public struct SoloReminder: Hashable, Sendable {
    /// The raw value is the bit in SQL.
    public enum Slot: Int32, CaseIterable, Hashable, Sendable {
        case first = 1
        case second = 2
        case third = 4
        /// 3 h before the date ends.
        case ending = 8
    }

    public let slot: Slot
    public let date: CalendarDate
    public let at: Instant
    /// From then on it is of no use and is dropped (NO-6).
    public let until: Instant
}

/// Which slots were handled, so that no date has two reminders of one slot, however the clock is changed.
public struct SoloProgress: Hashable, Sendable {
    /// Slots before this instant are left out: there was nothing to remind of.
    public var since: Instant
    /// The newest date of which slots were handled; those of older dates are over.
    public var date: CalendarDate?
    /// The bits of its slots.
    public var slots: Int32

    public init(since: Instant, date: CalendarDate? = nil, slots: Int32 = 0) {
        (self.since, self.date, self.slots) = (since, date, slots)
    }

    func awaits(_ reminder: SoloReminder) -> Bool {
        guard reminder.at >= since else { return false }
        guard let date else { return true }
        return reminder.date > date || (reminder.date == date && slots & reminder.slot.rawValue == 0)
    }

    /// Notes that a slot was handled, whether something was said or not.
    public mutating func note(_ reminder: SoloReminder) {
        if date.map({ $0 < reminder.date }) ?? true { (date, slots) = (reminder.date, 0) }
        if date == reminder.date { slots |= reminder.slot.rawValue }
    }
}

/// The reminders of one user's solo streaks, by their clock and habit.
///
/// A short streak (below 7) has three times, at 9, 14 and 19 h; from 7 on one, at 19 h, and 9 h is only for the end of a pause. Once there
/// are check-ins enough to know the usual time, the nearest of them (from 7 on the only one) moves to one hour before it. One that would
/// come less than 30 min before the day's last reminder, 3 h before its end, is left to that one.
public struct SoloReminders: Hashable, Sendable {
    /// The count from which a user is trusted to remember.
    public static let trusted = 7
    /// Local hours.
    static let hours: [SoloReminder.Slot: Int64] = [.first: 9, .second: 14, .third: 19]
    /// How long before the usual check-in.
    static let lead: Int64 = 3_600
    /// How many of the newest check-ins give the usual time, and how many it takes.
    public static let sample = 14
    public static let leastSample = 5
    /// How long a reminder is of use.
    static let useful = Interval.hours(2)
    /// NO-5.
    static let endingLead = Interval.hours(3)
    static let leastApart = Interval.minutes(30)

    private let zones: ZoneHistory
    private let zone: Zone
    private let count: Int
    private let usual: Int64?
    private let now: Instant

    /// - Parameters:
    ///   - count: of the check-in streak.
    ///   - usual: second of the local day at which the user mostly checks in; nil: not known.
    public init(zones: ZoneHistory, count: Int, usual: Int64?, at now: Instant) {
        (self.count, self.usual, self.now) = (count, usual, now)
        self.zones = zones.known(at: now)
        zone = zones.zone(at: now)
    }

    /// What is due now and still of use, earliest first.
    public func due(after progress: SoloProgress) -> [SoloReminder] {
        near.filter { $0.at <= now && now < $0.until && progress.awaits($0) }.sorted { $0.at < $1.at }
    }

    /// When to ask again, after now.
    ///
    /// - Parameters:
    ///   - progress: with what is due now noted in it.
    ///   - isDone: the user has checked in: nothing is due before their next date.
    public func next(after progress: SoloProgress, isDone: Bool) -> Instant {
        let today = zone.date(at: now)
        return near.filter { $0.at > now && progress.awaits($0) && (!isDone || $0.date > today) }.map(\.at).min() ?? now
            + .days(1)
    }

    private var near: [SoloReminder] {
        let today = zone.date(at: now)
        return (-1...3).flatMap { day in SoloReminder.Slot.allCases.compactMap { reminder($0, on: today.advanced(by: day)) } }
    }

    /// The reminder of a slot; nil when the date has none.
    func reminder(_ slot: SoloReminder.Slot, on date: CalendarDate) -> SoloReminder? {
        let (start, end) = (zone.start(of: date), zones.end(of: date))
        // A zone may leave a date out (Apia, 2011-12-30).
        guard start < zone.end(of: date), start < end else { return nil }
        let ending = max(end - Self.endingLead, start)
        guard slot != .ending else { return SoloReminder(slot: slot, date: date, at: ending, until: end) }
        guard let second = second(of: slot) else { return nil }
        let at = SnapWindow.first(showing: Int64(date.dayNumber) * 86_400 + second, in: zone, on: date)
        guard at + Self.leastApart <= ending else { return nil }
        return SoloReminder(slot: slot, date: date, at: at, until: min(at + Self.useful, end))
    }

    /// The second of the local day of a slot; nil when there is none.
    private func second(of slot: SoloReminder.Slot) -> Int64? {
        guard let hour = Self.hours[slot] else { return nil }
        let target = usual.map { max(0, $0 - Self.lead) }
        if count >= Self.trusted {
            switch slot {
            case .third: return target ?? hour * 3_600
            case .first: return hour * 3_600
            default: return nil
            }
        }
        guard let target, Self.nearest(to: target) == slot else { return hour * 3_600 }
        return target
    }

    private static func nearest(to target: Int64) -> SoloReminder.Slot? {
        hours.min { (abs($0.value * 3_600 - target), $0.value) < (abs($1.value * 3_600 - target), $1.value) }?.key
    }

    /// The usual time of check-ins: the median of the newest, in seconds of the local day each had; nil while there are too few. Of an even
    /// number the earlier of the two in the middle.
    public static func usual(_ checkIns: some Sequence<Instant>, _ zones: ZoneHistory) -> Int64? {
        let seconds = checkIns.prefix(sample).map { zones.zone(at: $0).secondOfDay(at: $0) }.sorted()
        return seconds.count < leastSample ? nil : seconds[(seconds.count - 1) / 2]
    }
}

/// What a reminder says.
public enum SoloMessage: Hashable, Sendable {
    case morning, afternoon, evening
    /// A freeze will be spent on the date.
    case freezeAhead
    /// A shield will be spent on the date.
    case shieldAhead
    /// So many days until the check-in that reaches a milestone: 2, 1 or 0.
    case milestone(Int, days: Int)
    /// So many dates after the missed one: 1, 2 or 7.
    case afterBreak(days: Int)
    case pauseEnded
}

/// What is known of a user's check-in streak when a reminder is due.
public struct SoloSituation: Hashable, Sendable {
    public var count: Int
    /// Checked in for the date.
    public var isDone: Bool
    /// The date is in a pause.
    public var isPaused: Bool
    /// The date is the first after a pause.
    public var isFirstAfterPause: Bool
    /// The date whose miss ended the last run; nil while a run goes on, or when there was none.
    public var missedDate: CalendarDate?
    /// The next milestone after the count.
    public var milestone: Int?

    public init(
        count: Int,
        isDone: Bool = false,
        isPaused: Bool = false,
        isFirstAfterPause: Bool = false,
        missedDate: CalendarDate? = nil,
        milestone: Int? = nil
    ) {
        (self.count, self.isDone, self.isPaused) = (count, isDone, isPaused)
        (self.isFirstAfterPause, self.missedDate, self.milestone) = (isFirstAfterPause, missedDate, milestone)
    }

    /// What a reminder before the last one of the day says; nil: nothing. Its hour decides the greeting.
    ///
    /// - Parameter hour: of the local day.
    public func message(_ slot: SoloReminder.Slot, on date: CalendarDate, hour: Int) -> SoloMessage? {
        guard !isDone, !isPaused else { return nil }
        if isFirstAfterPause, slot == .first { return .pauseEnded }
        guard count > 0 else {
            // The break itself was reported at once: the first day after it waits until the evening.
            let days = missedDate?.distance(to: date)
            return switch (slot, days) {
            case (.third, 1): .afterBreak(days: 1)
            case (.first, 2): .afterBreak(days: 2)
            case (.first, 7): .afterBreak(days: 7)
            default: nil
            }
        }
        let isTrusted = count >= SoloReminders.trusted
        guard !isTrusted || slot == .third else { return nil }
        // The first reminder of the day reports a milestone that is near.
        if slot == (isTrusted ? .third : .first), let milestone, (0...2).contains(milestone - count - 1) {
            return .milestone(milestone, days: milestone - count - 1)
        }
        return hour < 12 ? .morning : hour < 17 ? .afternoon : .evening
    }

    /// Whether a reminder may come later that needs no contribution before: after a break until its last one.
    public func isWaiting(on date: CalendarDate) -> Bool {
        count > 0 || isPaused || (missedDate.map { $0.distance(to: date) <= 7 } ?? false)
    }
}

/// What becomes of a solo streak at the end of its open date if its user does nothing.
public enum SoloOutlook: Hashable, Sendable {
    /// It stays: paused, free, or there is nothing to lose.
    case safe
    /// A shield or an insurance is spent.
    case protection(StreakLedger.Protection.Kind)
    /// A freeze is spent; so many are in hand before.
    case freeze(left: Int)
    case breaks
}

extension StreakLedger {
    /// Folds the ledger past the end of `date`: what the fold will say is what the reminder says (SD-5).
    public func outlook(on date: CalendarDate, _ policy: StreakPolicy, at now: Instant) -> SoloOutlook {
        let state = fold(self, policy, at: now)
        guard state.status == .active, state.count > 0, state.openDate == date, let deadline = state.deadlineAt, deadline > now
        else {
            return .safe
        }
        let end = fold(self, policy, at: deadline)
        switch end.mark(on: date) {
        case .missed: return .breaks
        case .frozen: return .freeze(left: state.freezesLeft)
        default: break
        }
        for case .protectionSpent(date, let kind, _) in end.log { return .protection(kind) }
        return .safe
    }
}
