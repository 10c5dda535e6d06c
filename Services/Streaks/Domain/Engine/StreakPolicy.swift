public import Kernel

/// The rules of one kind of streak, as values. The fold is the same for all of them.
public struct StreakPolicy: Hashable, Sendable {
    /// Who must contribute for a date to be complete.
    public enum Quorum: Hashable, Sendable {
        /// Every participant (MS-2; solo streaks have one).
        case everyone
        /// At least this share of the members of that date, rounded up, and never fewer than `atLeast` (TS-4).
        case share(percent: Int, atLeast: Int)
    }

    /// What a break does.
    public enum OnBreak: Hashable, Sendable {
        /// The streak stops with its count; only what undoes the break continues it (SD-6, RC-2).
        case stop
        /// The count falls to 0 and the next complete date begins a new run (check-in, typed, team, habit).
        case restart
    }

    /// More time after a missed date, now and then (TS-4).
    public struct Grace: Hashable, Sendable {
        public var length: Interval
        /// At most one grace in so many dates.
        public var everyDates: Int

        public init(length: Interval, everyDates: Int) {
            self.length = length
            self.everyDates = everyDates
        }
    }

    /// Freezes: one is spent on each missed date while there are any; a frozen date extends the count (SD-4, CI-2).
    public struct Freezes: Hashable, Sendable {
        /// How many can be in hand.
        public var cap: Int
        /// One is earned at each multiple of this count; nil: none are.
        public var earnedEvery: Int?

        public init(cap: Int, earnedEvery: Int?) {
            self.cap = cap
            self.earnedEvery = earnedEvery
        }
    }

    /// Recovery tokens (RC-2, RC-3).
    public struct Recovery: Hashable, Sendable {
        /// How long after the break a token helps, the end included.
        public var window: Interval
        /// One is earned at each multiple of this count (RC-1).
        public var earnedEvery: Int

        public init(window: Interval, earnedEvery: Int) {
            self.window = window
            self.earnedEvery = earnedEvery
        }
    }

    public var quorum: Quorum
    public var schedule: Schedule
    public var onBreak: OnBreak
    public var grace: Grace?
    public var freezes: Freezes?
    public var recovery: Recovery?
    /// The longest pause in dates; nil: cannot be paused (CI-4).
    public var longestPause: Int?
    public var milestones: Milestones
    /// How long after a date's end its late contributions still arrive, the end included (SD-2).
    public var lateTolerance: Interval = .hours(6)
    /// How far a client's clock may run ahead (SD-2).
    public var clockTolerance: Interval = .minutes(5)
    /// A date shown for less than this is not missed (SD-3).
    public var hardlySeen: Interval = .hours(12)
    /// A date that lost more than this to outages is neutral (SD-7).
    public var outageLoss: Interval = .hours(2)
    /// At risk: less than this is left (MS-4).
    public var riskSpan: Interval = .hours(6)
    /// How long after its end a date may still be re-opened by contributions: tolerance, travel westwards (at most 28 h) and slack.
    public var finality: Interval = .hours(72)

    public init(
        quorum: Quorum,
        schedule: Schedule,
        onBreak: OnBreak,
        grace: Grace? = nil,
        freezes: Freezes? = nil,
        recovery: Recovery? = nil,
        longestPause: Int? = nil,
        milestones: Milestones
    ) {
        self.quorum = quorum
        self.schedule = schedule
        self.onBreak = onBreak
        self.grace = grace
        self.freezes = freezes
        self.recovery = recovery
        self.longestPause = longestPause
        self.milestones = milestones
    }

    /// Two friends, a photo each, every date (MS-*).
    public static let mutual = StreakPolicy(
        quorum: .everyone,
        schedule: .daily,
        onBreak: .stop,
        recovery: Recovery(window: .hours(24), earnedEvery: 30),
        milestones: .mutual
    )

    /// One user's daily check-in with freezes and pause (CI-*). Premium earns a freeze every 5 dates instead of 7.
    public static func checkIn(freezeEvery: Int? = 7) -> StreakPolicy {
        StreakPolicy(
            quorum: .everyone,
            schedule: .daily,
            onBreak: .restart,
            freezes: Freezes(cap: 5, earnedEvery: freezeEvery),
            longestPause: 90,
            milestones: .checkIn
        )
    }

    /// One user's streak of one activity (TS-1); insurance and shields arrive as covers in its ledger (TS-3).
    public static let typed = StreakPolicy(quorum: .everyone, schedule: .daily, onBreak: .restart, milestones: .checkIn)

    /// A circle's streak: 60 % of the members, never fewer than 2, and 12 h of grace once in 7 dates (TS-4).
    public static let team = StreakPolicy(
        quorum: .share(percent: 60, atLeast: 2),
        schedule: .daily,
        onBreak: .restart,
        grace: Grace(length: .hours(12), everyDates: 7),
        milestones: .mutual
    )
}

/// On which dates something is due (HA-1).
public enum Schedule: Hashable, Sendable {
    case daily
    /// ISO weekdays, 1 = Monday … 7 = Sunday.
    case weekdays(Set<Int>)
    /// Every n-th date, counted from `from`.
    case everyNthDate(Int, from: CalendarDate)
    /// Days of the month, 1…31; a day a month does not have is not due in it.
    case daysOfMonth(Set<Int>)
    /// So many dates of each week from Monday to Sunday, whichever: the streak counts weeks (HA-3).
    case timesPerWeek(Int)

    /// Whether contributions on `date` can count.
    public func includes(_ date: CalendarDate) -> Bool {
        switch self {
        case .daily, .timesPerWeek: true
        case .weekdays(let days): days.contains(date.isoWeekday)
        case .everyNthDate(let step, let from): step > 0 && date >= from && from.distance(to: date) % step == 0
        case .daysOfMonth(let days): days.contains(date.components.day)
        }
    }

    /// The dates that are judged together with `date`: itself, or its week.
    func slot(of date: CalendarDate) -> ClosedRange<CalendarDate> {
        guard case .timesPerWeek = self else { return date...date }
        let monday = date.advanced(by: 1 - date.isoWeekday)
        return monday...monday.advanced(by: 6)
    }

    /// How many dates of a slot must be complete.
    var needed: Int {
        if case .timesPerWeek(let times) = self { min(max(times, 1), 7) } else { 1 }
    }
}

/// Which counts are celebrated.
public struct Milestones: Hashable, Sendable {
    /// Ascending.
    public var counts: [Int]
    /// After the last of `counts`, every multiple of this; 0: none.
    public var thenEvery: Int

    public init(counts: [Int], thenEvery: Int) {
        self.counts = counts
        self.thenEvery = thenEvery
    }

    /// MS-6: 7, 14, 30, 50, 100, 200, 365, then the round hundreds 400, 500, … ("every further 100" is read as multiples of 100,
    /// as 100 and 200 are, not as 465, 565, …).
    public static let mutual = Milestones(counts: [7, 14, 30, 50, 100, 200, 365], thenEvery: 100)
    /// CI-5.
    public static let checkIn = Milestones(counts: [3, 7, 14, 21, 30, 50, 100, 180, 365], thenEvery: 0)

    /// Whether `count` is celebrated.
    public func contains(_ count: Int) -> Bool { count > 0 && next(after: count - 1) == count }

    /// The next count to celebrate after `count`; nil when there is none.
    public func next(after count: Int) -> Int? {
        if let listed = counts.first(where: { $0 > count }) { return listed }
        guard thenEvery > 0 else { return nil }
        return (max(count, counts.last ?? 0) / thenEvery + 1) * thenEvery
    }
}
