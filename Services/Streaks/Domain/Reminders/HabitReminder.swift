public import Kernel

/// When a habit reminds its person, as they set it, and what was said so far (HA-1, HA-5).
public struct HabitReminder: Hashable, Sendable {
    /// A time that was handled, whether something was said or not.
    public struct Handled: Hashable, Sendable {
        public var date: CalendarDate
        public var minute: Int

        public init(date: CalendarDate, minute: Int) { (self.date, self.minute) = (date, minute) }
    }

    /// The snoozes of a date.
    public struct Snoozes: Hashable, Sendable {
        public var date: CalendarDate
        public var count: Int
        /// When it reminds again; nil: it has, or the date is over before.
        public var at: Instant?

        public init(date: CalendarDate, count: Int, at: Instant?) { (self.date, self.count, self.at) = (date, count, at) }
    }

    /// Of one habit and date.
    public static let mostSnoozes = 3
    /// How long one is.
    public static let snoozeLength = Interval.hours(1)

    /// Minute and weekdays. Which of these dates the schedule has is known when one has come.
    public var time: HabitReminderTime
    /// Times before this instant are left out: the reminder was set later, or the habit came back from the archive.
    public var since: Instant
    /// The newest of the times that were handled. Another time on the same date is new when it is later.
    public var handled: Handled?
    public var snoozes: Snoozes?

    public init(_ time: HabitReminderTime, since: Instant, handled: Handled? = nil, snoozes: Snoozes? = nil) {
        (self.time, self.since, self.handled, self.snoozes) = (time, since, handled, snoozes)
    }

    /// How many snoozes a date has left.
    public func snoozesLeft(on date: CalendarDate) -> Int {
        guard let snoozes, snoozes.date == date else { return Self.mostSnoozes }
        return max(0, Self.mostSnoozes - snoozes.count)
    }

    /// How many times the reminder of a date was put off: the number by which an action says which one it answers.
    func number(on date: CalendarDate) -> Int { Self.mostSnoozes - snoozesLeft(on: date) }

    /// Puts the reminder of a date off by an hour. A reminder that was put off already stays so, whichever device says it again. Once the hour
    /// would reach into the next date there is none any more, and a date that is over has none to put off.
    ///
    /// - Parameter number: which reminder is answered: so many were put off before it; nil: the newest.
    /// - Returns: when it reminds again; nil: not any more.
    /// - Throws: `SNOOZE_LIMIT_REACHED` for the fourth of a date.
    public mutating func snooze(_ number: Int?, on date: CalendarDate, _ zones: ZoneHistory, at now: Instant)
        throws(ServiceError) -> Instant?
    {
        let end = zones.known(at: now).end(of: date)
        guard now < end else { return nil }
        var snoozes = self.snoozes.flatMap { $0.date == date ? $0 : nil } ?? Snoozes(date: date, count: 0, at: nil)
        if let number, number < snoozes.count { return snoozes.at }
        guard snoozes.count < Self.mostSnoozes else {
            throw ServiceError(
                .failedPrecondition,
                "SNOOZE_LIMIT_REACHED",
                "This reminder was snoozed \(Self.mostSnoozes) times today."
            )
        }
        snoozes.count += 1
        let again = now + Self.snoozeLength
        snoozes.at = again < end ? again : nil
        self.snoozes = snoozes
        return snoozes.at
    }

    /// Notes that a reminder was handled, whether something was said or not.
    public mutating func note(_ due: DueHabitReminder) {
        if due.isRepeat {
            snoozes?.at = nil
        } else {
            handled = Handled(date: due.date, minute: time.minute)
        }
    }

    /// Whether the time of a date was not handled yet.
    func awaits(_ date: CalendarDate, at: Instant) -> Bool {
        guard at >= since else { return false }
        return handled.map { ($0.date, $0.minute) < (date, time.minute) } ?? true
    }
}

/// A reminder of a habit whose time has come. Whether there is something to remind of is decided then.
public struct DueHabitReminder: Hashable, Sendable {
    public let date: CalendarDate
    public let at: Instant
    /// From then on it is of no use and is dropped (NO-6).
    public let until: Instant
    /// How many times it was put off before.
    public let number: Int
    /// It comes because it was put off.
    public let isRepeat: Bool
}

/// The reminders that a person gets on a date: on the free plan three, of several habits the earliest (HA-17). One that was put off is the
/// same reminder when it comes again.
public struct HabitReminderAllowance: Hashable, Sendable {
    public private(set) var date: CalendarDate?
    /// How many had on it.
    public private(set) var sent: Int

    public init(date: CalendarDate? = nil, sent: Int = 0) { (self.date, self.sent) = (date, sent) }

    /// Counts one more. - Returns: false when the plan has no more of them.
    public mutating func take(on date: CalendarDate, _ limits: HabitLimits) -> Bool {
        if self.date.map({ $0 < date }) ?? true { (self.date, sent) = (date, 0) }
        guard sent < limits.reminders else { return false }
        sent += 1
        return true
    }
}

extension HabitState {
    /// Whether there is something to do on a date that is not over: it is not done, skipped, paused, archived, excused or not due, and its
    /// week is not reached (HA-8).
    public func isOpen(on date: CalendarDate) -> Bool {
        guard let day = days[date], day.isOpen, day.status == .open || day.status == .partial else { return false }
        guard let week, week.dates.contains(date) else { return true }
        return week.missing > 0
    }
}
