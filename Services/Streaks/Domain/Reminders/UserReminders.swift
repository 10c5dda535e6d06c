public import Kernel

/// A notification whose time comes by the user's clock.
public struct Reminder: Hashable, Sendable {
    public enum Kind: Hashable, Sendable, CaseIterable {
        /// The snap window opens: the push of the day (PW-2).
        case windowOpened
        /// The window closes in 30 min.
        case windowClosing
        /// The user's day ends in 3 h (NO-5).
        case dayEnding
    }

    public let kind: Kind
    /// The user's date it is about: of a window the one on which it opens.
    public let date: CalendarDate
    /// When it is due.
    public let at: Instant
    /// From then on it is of no use and is dropped (NO-6): the end of the window, or of the day.
    public let until: Instant
    /// The window of `date`.
    public let window: SnapWindow
}

/// Which reminders of a user were handled, so that no date has two of one kind, however their clock is changed.
public struct ReminderProgress: Hashable, Sendable {
    /// Reminders before this instant are left out: there was no running streak.
    public var since: Instant
    /// The newest date of each kind that was handled.
    public var opened: CalendarDate?
    public var closing: CalendarDate?
    public var ending: CalendarDate?

    public init(since: Instant, opened: CalendarDate? = nil, closing: CalendarDate? = nil, ending: CalendarDate? = nil) {
        (self.since, self.opened, self.closing, self.ending) = (since, opened, closing, ending)
    }

    /// The newest date of a kind that was handled.
    public func newest(_ kind: Reminder.Kind) -> CalendarDate? {
        switch kind {
        case .windowOpened: opened
        case .windowClosing: closing
        case .dayEnding: ending
        }
    }

    /// Notes that a reminder was handled: emitted, or dropped because there was nothing to remind of.
    public mutating func note(_ reminder: Reminder) {
        switch reminder.kind {
        case .windowOpened: opened = reminder.date
        case .windowClosing: closing = reminder.date
        case .dayEnding: ending = reminder.date
        }
    }

    /// Whether a reminder was not handled yet and does not lie before the user's first streak.
    func awaits(_ reminder: Reminder) -> Bool {
        reminder.at >= since && newest(reminder.kind).map { $0 < reminder.date } ?? true
    }
}

/// The reminders of one user, by their clock and window hour at an instant (PW-2, NO-5).
///
/// Nothing is planned ahead: the job asks which reminders are due now, and when to ask again. After a change of zone or hour it asks again
/// at once.
public struct UserReminders: Hashable, Sendable {
    /// How long before the end of the window the reminder comes.
    public static let closingLead = Interval.minutes(30)
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

    /// What is due now: of each kind at most one, none that is of no use any more, earliest first.
    public func due(after progress: ReminderProgress) -> [Reminder] {
        Reminder.Kind.allCases.compactMap { kind in
            reminders(kind).filter { $0.at <= now && now < $0.until && progress.awaits($0) }.max { $0.date < $1.date }
        }.sorted { $0.at < $1.at }
    }

    /// When to ask again, after now.
    ///
    /// - Parameter progress: with what is due now noted in it.
    public func next(after progress: ReminderProgress) -> Instant {
        Reminder.Kind.allCases.flatMap { reminders($0) }.filter { $0.at > now && progress.awaits($0) }.map(\.at).min()
            ?? now + .days(1)
    }

    /// The reminders of a kind near now, by date.
    private func reminders(_ kind: Reminder.Kind) -> [Reminder] {
        let today = zone.date(at: now)
        return (-2...4).compactMap { reminder(kind, on: today.advanced(by: $0)) }
    }

    /// The reminder of a date; nil when it has none.
    func reminder(_ kind: Reminder.Kind, on date: CalendarDate) -> Reminder? {
        // A zone may leave a date out (Apia, 2011-12-30).
        guard zone.start(of: date) < zone.end(of: date) else { return nil }
        let window = SnapWindow(startHour: startHour, on: date, in: zone)
        switch kind {
        case .windowOpened:
            let at = window.pushAt(user: user, on: date)
            return Reminder(kind: kind, date: date, at: at, until: window.closesAt, window: window)
        case .windowClosing:
            let at = window.closesAt - Self.closingLead
            return Reminder(kind: kind, date: date, at: at, until: window.closesAt, window: window)
        case .dayEnding:
            let end = zones.end(of: date)
            let at = max(end - Self.endingLead, zone.start(of: date))
            return Reminder(kind: kind, date: date, at: at, until: end, window: window)
        }
    }
}

extension StreakLedger {
    /// What a user loses who does not post.
    public struct Stake: Hashable, Sendable {
        public let count: Int
        /// When the date is over for all members.
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
