public import Kernel

/// An instant of a person's day that they are told of.
public struct Reminder: Hashable, Sendable {
    public enum Kind: Hashable, Sendable, CaseIterable {
        /// The day's push of the snap window (PW-2).
        case windowOpened
        /// The window closes in 30 min.
        case windowClosing
        /// The person's day ends in 3 h (NO-5).
        case dayEnding
    }

    public let kind: Kind
    /// The person's date it is about: of a window the one on which it opens.
    public let date: CalendarDate
    /// When it is to be told.
    public let at: Instant
    /// From then on it is of no use, and is not told any more (NO-6): the end of the window, or of the day.
    public let until: Instant
    /// The window of `date`.
    public let window: SnapWindow
}

/// What a person has been told, so that no moment of one date is told twice, however their clock is turned.
public struct ReminderProgress: Hashable, Sendable {
    /// Moments before this instant are nobody's: there was no streak to tell of.
    public var since: Instant
    /// The newest date of each kind that was dealt with.
    public var opened: CalendarDate?
    public var closing: CalendarDate?
    public var ending: CalendarDate?

    public init(since: Instant, opened: CalendarDate? = nil, closing: CalendarDate? = nil, ending: CalendarDate? = nil) {
        (self.since, self.opened, self.closing, self.ending) = (since, opened, closing, ending)
    }

    /// The newest date of a kind that was dealt with.
    public func newest(_ kind: Reminder.Kind) -> CalendarDate? {
        switch kind {
        case .windowOpened: opened
        case .windowClosing: closing
        case .dayEnding: ending
        }
    }

    /// Remembers that a moment was dealt with: told, or found to have nothing to tell.
    public mutating func note(_ moment: Reminder) {
        switch moment.kind {
        case .windowOpened: opened = moment.date
        case .windowClosing: closing = moment.date
        case .dayEnding: ending = moment.date
        }
    }

    /// Whether a moment is neither dealt with nor from before the person's first streak.
    func awaits(_ moment: Reminder) -> Bool { moment.at >= since && newest(moment.kind).map { $0 < moment.date } ?? true }
}

/// The moments of one person as their clock and their window hour stand at an instant (PW-2, NO-5).
///
/// Nothing is planned ahead: whoever looks asks for what is due now and when to look again. A change of zone or hour is a reason to look
/// again at once.
public struct UserReminders: Hashable, Sendable {
    /// How long before the end of the window the reminder comes.
    public static let closingLead = Interval.minutes(30)
    /// The least time between the day's push and that reminder; with less, the push is reminder enough.
    public static let leastApart = Interval.minutes(30)
    /// How long before the end of the day (NO-5).
    public static let endingLead = Interval.hours(3)

    private let user: UserID
    private let zones: ZoneHistory
    private let zone: Zone
    private let startHour: Int
    private let now: Instant

    /// - Parameter startHour: local hour of the window, 0…23.
    public init(of user: UserID, zones: ZoneHistory, startHour: Int, at now: Instant) {
        (self.user, self.startHour, self.now) = (user, startHour, now)
        self.zones = zones.known(at: now)
        zone = zones.zone(at: now)
    }

    /// What is to be told now: of each kind at most one, none that is of no use any more, earliest first.
    public func due(after progress: ReminderProgress) -> [Reminder] {
        Reminder.Kind.allCases.compactMap { kind in
            moments(kind).filter { $0.at <= now && now < $0.until && progress.awaits($0) }.max { $0.date < $1.date }
        }.sorted { $0.at < $1.at }
    }

    /// When to look again, after now.
    ///
    /// - Parameter progress: with what is due now noted in it.
    public func next(after progress: ReminderProgress) -> Instant {
        Reminder.Kind.allCases.flatMap { moments($0) }.filter { $0.at > now && progress.awaits($0) }.map(\.at).min()
            ?? now + .days(1)
    }

    /// The moments of a kind near now, by date.
    private func moments(_ kind: Reminder.Kind) -> [Reminder] {
        let today = zone.date(at: now)
        return (-2...4).compactMap { moment(kind, on: today.advanced(by: $0)) }
    }

    /// The moment of a date; nil when it has none.
    public func moment(_ kind: Reminder.Kind, on date: CalendarDate) -> Reminder? {
        // A zone may leave a date out (Apia, 2011-12-30).
        guard zone.start(of: date) < zone.end(of: date) else { return nil }
        let window = SnapWindow(startHour: startHour, on: date, in: zone)
        let pushAt = window.pushAt(user: user, on: date)
        switch kind {
        case .windowOpened:
            return Reminder(kind: kind, date: date, at: pushAt, until: window.closesAt, window: window)
        case .windowClosing:
            let at = window.closesAt - Self.closingLead
            guard pushAt + Self.leastApart <= at else { return nil }
            return Reminder(kind: kind, date: date, at: at, until: window.closesAt, window: window)
        case .dayEnding:
            let end = zones.end(of: date)
            let at = max(end - Self.endingLead, zone.start(of: date))
            return Reminder(kind: kind, date: date, at: at, until: end, window: window)
        }
    }
}

extension StreakLedger {
    /// What a person loses who does not post.
    public struct Stake: Hashable, Sendable {
        public let count: Int
        /// When the date is over for everyone.
        public let deadline: Instant
    }

    /// Whether the streak breaks if `user` posts no more for `date` (NO-5); nil when it counts nothing or does not run, when they have
    /// posted, and when a recovery, a pause or an outage keeps the date anyway.
    public func stake(of user: UserID, on date: CalendarDate, _ policy: StreakPolicy, at now: Instant) -> Stake? {
        let pass = FoldPass(self, policy, now: now)
        pass.run()
        let state = pass.state()
        let slot = policy.schedule.slot(of: date)
        let deadline = pass.over(slot)
        guard state.status == .active, state.count > 0, deadline > now, policy.schedule.includes(date),
            !hasContributed(user, on: date, known: now), pass.isCompletable(slot), pass.cover(slot, known: now) == nil,
            !pass.isNeutral(slot, deadline, known: now)
        else { return nil }
        return Stake(count: state.count, deadline: deadline)
    }
}
