public import Kernel

/// The rules of one kind of streak, as values. The fold is the same for all of them.
public struct StreakPolicy: Hashable, Sendable {
    /// Who must contribute for a date to be complete.
    public enum Quorum: Hashable, Sendable {
        /// Every participant (MS-2; solo streaks have one).
        case everyone
        /// At least this share of the members of that date, rounded up, and never fewer than `atLeast`; a date with fewer members than
        /// `atLeast` is neutral (TS-4).
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

    /// A number that depends on the user's plan at the instant that it decides something (`StreakLedger.Participant.plans`).
    public struct ByPlan<Value: Hashable & Sendable>: Hashable, Sendable {
        public var free: Value
        public var premium: Value

        public init(free: Value, premium: Value) { (self.free, self.premium) = (free, premium) }

        /// The same on both plans.
        public init(_ value: Value) { self.init(free: value, premium: value) }

        func value(isPremium: Bool) -> Value { isPremium ? premium : free }
    }

    /// Freezes: one is spent on each missed date while there are any; a frozen date extends the count (SD-4, CI-2).
    public struct Freezes: Hashable, Sendable {
        /// How many can be in hand. What is earned above it is lost; what would be bought above it is refused.
        public var cap: Int
        /// One is earned at each multiple of this count; nil: none are.
        public var earnedEvery: ByPlan<Int>?
        /// What a milestone's count brings beside, the first time that this streak reaches it (CI-5).
        public var ofMilestones: [Int: Int]
        /// How long after the break that a missed date was one can be used on it by hand, the end included.
        public var lateWindow: Interval = .hours(24)

        public init(cap: Int, earnedEvery: ByPlan<Int>?, ofMilestones: [Int: Int] = [:]) {
            (self.cap, self.earnedEvery, self.ofMilestones) = (cap, earnedEvery, ofMilestones)
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

    /// Repairs of check-in streaks and restores of typed ones (CI-3, TS-3).
    public struct Repair: Hashable, Sendable {
        /// The shortest run that can be repaired.
        public var minimum: Int
        /// How long after the break, the end included.
        public var window: Interval
        /// From one repair to the next, unless it came back.
        public var cooldown: Interval

        public init(minimum: Int, window: Interval, cooldown: Interval) {
            (self.minimum, self.window, self.cooldown) = (minimum, window, cooldown)
        }
    }

    /// Habits (HA-*): schedule, target and week start lie in the ledger as dated versions, contributions have values and can be
    /// changed, deleted and dated back, and `longest` follows them downwards too (HA-11).
    public struct Habits: Hashable, Sendable {
        /// What counts of weeks are celebrated; those of dates are `StreakPolicy.milestones`.
        public var weekMilestones: Milestones
        /// How many dates before today take completions and skips (HA-12).
        public var reach: Int

        public init(weekMilestones: Milestones, reach: Int) { (self.weekMilestones, self.reach) = (weekMilestones, reach) }
    }

    public var quorum: Quorum
    public var schedule: Schedule
    public var onBreak: OnBreak
    public var grace: Grace?
    public var freezes: Freezes?
    public var recovery: Recovery?
    /// nil: cannot be repaired.
    public var repair: Repair?
    /// How many dates back a time machine reaches (TS-3); nil: not at all.
    public var fillReach: Int?
    /// What can be held against the next break (TS-3).
    public var protections: Set<StreakLedger.Protection.Kind> = []
    /// So many missed dates of a calendar month are neutral by themselves (TS-3); nil: none.
    public var freeDatesPerMonth: ByPlan<Int>?
    /// Premium has an insurance without buying one, once in so many dates (TS-3); nil: it has not.
    public var premiumInsuranceEvery: Int?
    /// The longest pause in dates; nil: cannot be paused (CI-4).
    public var longestPause: Int?
    public var milestones: Milestones
    /// What the schedule of habits brings with it (HA-*); nil for other kinds.
    public var habits: Habits?
    /// What a milestone brings it brings once in the life of the streak (CI-5, TS-1), not in each run (MS-6).
    public var rewardsOnce = false
    /// The streak begins with its earliest activity, in whichever order the first ones are recorded.
    public var beginsWithActivity = false
    /// How long after a date's end its late contributions still arrive, the end included (SD-2).
    public var lateTolerance: Interval = .hours(6)
    /// How far a client's clock may run ahead: within it a capture is taken as now (SD-2).
    public var clockTolerance: Interval = .minutes(15)
    /// What is older is not believed, whatever its date (SD-2).
    public var oldestCapture: Interval = .hours(48)
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
        repair: Repair? = nil,
        longestPause: Int? = nil,
        milestones: Milestones
    ) {
        self.quorum = quorum
        self.schedule = schedule
        self.onBreak = onBreak
        self.grace = grace
        self.freezes = freezes
        self.recovery = recovery
        self.repair = repair
        self.longestPause = longestPause
        self.milestones = milestones
    }

    /// The count that will be celebrated next, and brings something then; nil when there is none. What has been paid once for ever is not
    /// promised again.
    public func nextMilestone(of state: StreakState) -> Int? {
        milestones.next(after: rewardsOnce ? max(state.count, state.longest) : state.count)
    }

    /// Whether a plan decides anything.
    public var asksForPlans: Bool {
        freezes?.earnedEvery.map { $0.free != $0.premium } ?? false || freeDatesPerMonth != nil || premiumInsuranceEvery != nil
    }

    /// Two friends, a photo each, every date (MS-*).
    public static let mutual = StreakPolicy(
        quorum: .everyone,
        schedule: .daily,
        onBreak: .stop,
        recovery: Recovery(window: .hours(24), earnedEvery: 30),
        milestones: .mutual
    )

    /// One user's daily check-in with freezes, pause, repair and shield (CI-*). Premium earns a freeze every 5 dates instead of 7; the
    /// dated plans of the ledger say when it was (`StreakLedger.Participant.plans`).
    public static let checkIn: StreakPolicy = {
        var policy = StreakPolicy(
            quorum: .everyone,
            schedule: .daily,
            onBreak: .restart,
            freezes: Freezes(
                cap: 5,
                earnedEvery: ByPlan(free: 7, premium: 5),
                ofMilestones: [7: 1, 14: 1, 21: 1, 30: 2, 50: 1, 100: 3, 180: 3, 365: 5]
            ),
            repair: Repair(minimum: 7, window: .hours(24), cooldown: .days(30)),
            longestPause: 90,
            milestones: .checkIn
        )
        policy.beginsWithActivity = true
        policy.rewardsOnce = true
        policy.fillReach = 7
        policy.protections = [.shield]
        return policy
    }()

    /// One user's streak of one activity (TS-1): a free date a month, premium four; insurance, restore and time machine (TS-3).
    public static let typed: StreakPolicy = {
        var policy = StreakPolicy(
            quorum: .everyone,
            schedule: .daily,
            onBreak: .restart,
            repair: Repair(minimum: 7, window: .hours(24), cooldown: .days(30)),
            milestones: .typed
        )
        policy.beginsWithActivity = true
        policy.rewardsOnce = true
        policy.fillReach = 7
        policy.protections = [.insurance]
        policy.freeDatesPerMonth = ByPlan(free: 1, premium: 4)
        policy.premiumInsuranceEvery = 7
        return policy
    }()

    /// A circle's streak: 60 % of the members, never fewer than 2, and 12 h of grace once in 7 dates (TS-4).
    public static let team = StreakPolicy(
        quorum: .share(percent: 60, atLeast: 2),
        schedule: .daily,
        onBreak: .restart,
        grace: Grace(length: .hours(12), everyDates: 7),
        milestones: .mutual
    )

    /// One user's habit (HA-*). The schedule is that of the ledger's versions (`HabitEntries`).
    ///
    /// How late edits meet checkpoints: a date becomes final nine dates after its end, so that everything a person may do any day (HA-12:
    /// today − 7 … today) is done on the newest checkpoint and folds some ten dates. What reaches further back (a deletion at any age, sync
    /// after time offline, import, a start that moves back) is refused with `LEDGER_TOO_SHORT`: the service loads all of that habit's rows
    /// and applies it again. The checkpoint that it stores then replaces the one that had become wrong.
    public static let habit: StreakPolicy = {
        var policy = StreakPolicy(
            quorum: .everyone,
            schedule: .daily,
            onBreak: .restart,
            longestPause: 90,
            milestones: .habitDates
        )
        policy.habits = Habits(weekMilestones: .habitWeeks, reach: 7)
        policy.finality = .days(9)
        return policy
    }()
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
    /// TS-1: the seven of the typed streaks.
    public static let typed = Milestones(counts: [3, 7, 14, 30, 50, 100, 365], thenEvery: 0)

    /// HA-11, of dates.
    public static let habitDates = Milestones(counts: [7, 30, 50, 100, 365], thenEvery: 100)
    /// HA-11, of weeks.
    public static let habitWeeks = Milestones(counts: [4, 12, 26, 52], thenEvery: 52)

    /// Whether `count` is celebrated.
    public func contains(_ count: Int) -> Bool { count > 0 && next(after: count - 1) == count }

    /// The next count to celebrate after `count`; nil when there is none. What is promised to a user is `StreakPolicy.nextMilestone`.
    public func next(after count: Int) -> Int? {
        if let listed = counts.first(where: { $0 > count }) { return listed }
        guard thenEvery > 0 else { return nil }
        return (max(count, counts.last ?? 0) / thenEvery + 1) * thenEvery
    }
}
