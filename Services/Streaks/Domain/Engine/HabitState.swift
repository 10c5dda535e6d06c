public import Kernel

/// What only habits have in their state.
public struct HabitState: Hashable, Sendable {
    /// The first date that counts: of the creation, or of an earlier completion (HA-11).
    public var startsOn: CalendarDate
    /// The date that the person's clock shows.
    public var today: CalendarDate
    /// What `StreakState.count` counts.
    public var unit: Schedule.Unit
    /// The longest run of each unit (HA-10).
    public var longestDates: Int
    public var longestWeeks: Int
    /// Every date after the checkpoint, from the start to the newest that is shown or has a completion. What lies behind the checkpoint is
    /// settled and stored by the feature.
    public var days: [CalendarDate: HabitDay]
    /// The runs in time order: the one that the checkpoint was in the middle of, or none, and all after it. The last one runs while it has
    /// no end.
    public var runs: [HabitRun]
    /// The week of today; nil unless the schedule counts weeks.
    public var week: HabitWeek?
}

/// What became of a date of a habit (HA-8, HA-9). Stored, it is the row that statistics are made of.
public struct HabitDay: Hashable, Sendable {
    /// The raw value is the one in SQL.
    public enum Status: Int32, Hashable, Sendable, CaseIterable {
        /// The values reached the target.
        case done = 1
        /// Something was done of a due date, but not enough; over or not.
        case partial = 2
        /// A due date is over and nothing was done.
        case missed = 3
        /// A due date that is not over.
        case open = 4
        /// Skipped by the person.
        case skipped = 5
        /// In a pause.
        case paused = 6
        /// In the archive.
        case archived = 7
        /// Hardly seen (SD-3) or lost to an outage (SD-7).
        case excused = 8
        /// Nothing is due.
        case notDue = 9
        /// A completion on a date that is not due: in totals, never in counts or rates.
        case extra = 10
        /// A date of a weekly habit that is over without a completion: the week is judged, not the date.
        case free = 11
    }

    /// What a slot came to, for rates (HA-16).
    public enum Outcome: Int32, Hashable, Sendable, CaseIterable {
        case done = 1
        case missed = 2
        /// Kept or neutral without being done: in no rate.
        case excused = 3
        /// Not over and not done.
        case open = 4
    }

    public var status: Status
    /// The sum of the values.
    public var value: Amount
    /// How many completions it has.
    public var completions: Int
    public var target: Amount?
    /// Whether it is not over.
    public var isOpen: Bool
    /// What the slot came to that ends on this date; nil when none does, or nothing is due.
    public var outcome: Outcome?
    /// How many dates are due in that slot: 1, or of a week the number of times.
    public var dueDates: Int
    /// Whether a run ended with a miss on this date; a miss at count 0 ends none.
    public var brokeRun: Bool

    /// A stored one.
    public init(
        status: Status,
        value: Amount,
        completions: Int,
        target: Amount?,
        isOpen: Bool,
        outcome: Outcome?,
        dueDates: Int,
        brokeRun: Bool
    ) {
        (self.status, self.value, self.completions, self.target) = (status, value, completions, target)
        (self.isOpen, self.outcome, self.dueDates, self.brokeRun) = (isOpen, outcome, dueDates, brokeRun)
    }
}

/// A run of a habit, for the streak timeline.
public struct HabitRun: Hashable, Sendable {
    /// Why it ended.
    public enum End: Hashable, Sendable {
        /// This date, or the week that ended on it, was missed.
        case missed(CalendarDate)
        /// Another schedule counts in another unit from this date on: no break (HA-10).
        case scheduleChanged(CalendarDate)
    }

    /// The first date, or the first of the first week, that counts.
    public var from: CalendarDate
    /// The last date, or the last of the last week, that counts.
    public var through: CalendarDate
    public var count: Int
    public var unit: Schedule.Unit
    /// nil while it runs.
    public var end: End?

    /// A stored one.
    public init(from: CalendarDate, through: CalendarDate, count: Int, unit: Schedule.Unit, end: End?) {
        (self.from, self.through, self.count, self.unit, self.end) = (from, through, count, unit, end)
    }
}

/// A week of a weekly habit.
public struct HabitWeek: Hashable, Sendable {
    public var dates: ClosedRange<CalendarDate>
    /// Dates that are done, excused, and how many it takes.
    public var done: Int
    public var excused: Int
    public var needed: Int
    /// Dates that are neither over, done nor excused.
    public var left: Int
    /// Cut by the start or a change: neutral unless done (HA-10).
    public var isCut: Bool

    public init(dates: ClosedRange<CalendarDate>, done: Int, excused: Int, needed: Int, left: Int, isCut: Bool) {
        (self.dates, self.done, self.excused) = (dates, done, excused)
        (self.needed, self.left, self.isCut) = (needed, left, isCut)
    }

    /// How many dates are still to be done.
    public var missing: Int { max(0, needed - done - excused) }
    /// Whether each date that is left must be done to keep the week (HA-15).
    public var cannotWait: Bool { !isCut && missing > 0 && missing == left }
}
