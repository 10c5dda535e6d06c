public import Kernel

/// A rate: slots done of those that counted (HA-16). Rates of several habits are pooled: their slots are added, not their rates averaged.
public struct HabitRate: Hashable, Sendable {
    public var done: Int
    /// Due and not excused; an open slot only when it is done.
    public var counted: Int

    public init(done: Int = 0, counted: Int = 0) { (self.done, self.counted) = (done, counted) }

    /// 0…1; nil when nothing counted.
    public var share: Double? { counted > 0 ? Double(done) / Double(counted) : nil }

    /// 0…100, rounded; 100 only when all are done and 0 only when none is. nil when nothing counted.
    public var percent: Int? {
        guard counted > 0 else { return nil }
        if done == 0 || done >= counted { return done == 0 ? 0 : 100 }
        return min(99, max(1, (done * 200 + counted) / (counted * 2)))
    }

    /// In points of a hundred against an earlier rate, rounded; nil when either has nothing that counted (HA-16).
    public func trend(since before: Self) -> Int? {
        guard let now = share, let past = before.share else { return nil }
        return Int(((now - past) * 100).rounded())
    }

    public static func + (left: Self, right: Self) -> Self {
        Self(done: left.done + right.done, counted: left.counted + right.counted)
    }
}

/// A time that statistics are made of (HA-16).
public enum HabitWindow: Hashable, Sendable, CaseIterable {
    case week, month, year, allTime

    /// Its dates up to `today`; those of all time begin with `start`.
    public func dates(until today: CalendarDate, since start: CalendarDate) -> ClosedRange<CalendarDate> {
        switch self {
        case .week: today.advanced(by: -6)...today
        case .month: today.advanced(by: -29)...today
        case .year: today.advanced(by: -364)...today
        case .allTime: min(start, today)...today
        }
    }

    /// The dates of the window before it; nil for all time.
    public func datesBefore(_ today: CalendarDate) -> ClosedRange<CalendarDate>? {
        if self == .allTime { return nil }
        let dates = dates(until: today, since: today)
        return dates.lowerBound.advanced(by: -dates.count)...dates.lowerBound.advanced(by: -1)
    }
}

/// The figures of habits, from their days: those of the fold, and the stored ones behind its checkpoint.
public struct HabitStatistics: Hashable, Sendable {
    public var rate: HabitRate
    /// In points of a hundred against the window before, rounded; nil when either has no rate.
    public var trend: Int?
    /// Dates done, extra ones too, and the sum of their values.
    public var datesDone: Int
    public var value: Amount
    public var completions: Int

    /// - Parameter days: of one habit or several, each with its date; those outside the window and the one before it change nothing.
    public init(_ days: some Sequence<(date: CalendarDate, day: HabitDay)>, _ window: HabitWindow, until today: CalendarDate) {
        let before = window.datesBefore(today)
        let first = before?.upperBound.advanced(by: 1)
        var (now, past) = (HabitRate(), HabitRate())
        (datesDone, value, completions) = (0, .zero, 0)
        for (date, day) in days where date <= today || day.outcome == .done {
            if let before, let first, date < first {
                if before.contains(date) { past = past + day.rate }
                continue
            }
            // A week that is done counts before it is over.
            if date <= today || day.outcome == .done { now = now + day.rate }
            guard date <= today else { continue }
            if day.status == .done || day.status == .extra { datesDone += 1 }
            value = value + day.value
            completions += day.completions
        }
        rate = now
        trend = now.trend(since: past)
    }
}

extension HabitDay.Outcome {
    /// What a slot adds to a rate, unless it is excused, or open and not done.
    var rate: HabitRate {
        switch self {
        case .done: HabitRate(done: 1, counted: 1)
        case .missed: HabitRate(done: 0, counted: 1)
        case .excused, .open: HabitRate()
        }
    }
}

extension HabitDay {
    /// What it adds to a rate: the slot that ends on it.
    public var rate: HabitRate { outcome?.rate ?? HabitRate() }
}

/// How steadily a habit was kept over the last 90 dates (HA-4, HA-16).
public struct HabitConsistency: Hashable, Sendable {
    public enum Grade: String, Hashable, Sendable, CaseIterable {
        case a = "A"
        case b = "B"
        case c = "C"
        case d = "D"
        case f = "F"
    }

    /// 0…100, rounded down, so that it never shows more than was reached.
    public var score: Int
    public var grade: Grade
    /// Dates done a week on average, over those of the 90 dates that are not before the start, in tenths, rounded.
    public var tenthsOfDatesPerWeek: Int

    /// How far back it looks.
    public static let reach = 90
    /// Fewer due dates say nothing.
    public static let fewestDueDates = 7

    /// nil when fewer than 7 due dates counted. A week counts as many due dates as it needs.
    public init?(_ days: some Sequence<(date: CalendarDate, day: HabitDay)>, until today: CalendarDate, since start: CalendarDate)
    {
        guard let dates = Self.dates(until: today, since: start) else { return nil }
        var (rate, due, done) = (HabitRate(), 0, 0)
        for (date, day) in days where date >= dates.lowerBound && (date <= today || day.outcome == .done) {
            rate = rate + day.rate
            due += day.rate.counted * day.dueDates
            if date <= today, day.status == .done || day.status == .extra { done += 1 }
        }
        self.init(rate, dueDates: due, datesDone: done, of: dates.count)
    }

    /// From sums over the dates of `dates(until:since:)`.
    ///
    /// - Parameters:
    ///   - rate: slots, with a week that is done before it is over.
    ///   - dueDates: of the slots that counted: of each 1, of a week as many as it needs. Fewer than 7 give nil.
    ///   - datesDone: extra ones too.
    ///   - dates: how many dates these are.
    public init?(_ rate: HabitRate, dueDates: Int, datesDone: Int, of dates: Int) {
        guard dueDates >= Self.fewestDueDates, rate.counted > 0, dates > 0 else { return nil }
        score = rate.done * 100 / rate.counted
        grade =
            switch score {
            case 90...: .a
            case 80..<90: .b
            case 70..<80: .c
            case 60..<70: .d
            default: .f
            }
        tenthsOfDatesPerWeek = (datesDone * 70 * 2 + dates) / (dates * 2)
    }

    /// The dates it is about: the last 90, from the start at the earliest; nil when the start is still to come.
    public static func dates(until today: CalendarDate, since start: CalendarDate) -> ClosedRange<CalendarDate>? {
        let first = max(today.advanced(by: 1 - reach), start)
        return first <= today ? first...today : nil
    }

    /// The explanation beside score and grade.
    public var text: String {
        let (days, tenths) = tenthsOfDatesPerWeek.quotientAndRemainder(dividingBy: 10)
        let number = tenths == 0 ? "\(days)" : "\(days).\(tenths)"
        return "You complete this habit \(number) \(number == "1" ? "day" : "days") per week on average"
    }
}

extension Schedule.Unit {
    /// How many dates one of what it counts stands for, to compare runs of both units.
    public var dates: Int { self == .weeks ? 7 : 1 }
}

/// The mean of the counts of several habits, weeks as 7 dates, rounded down (HA-16); 0 without habits.
public func averageStreak(_ counts: some Collection<(count: Int, unit: Schedule.Unit)>) -> Int {
    guard !counts.isEmpty else { return 0 }
    return counts.reduce(0) { $0 + $1.count * $1.unit.dates } / counts.count
}

/// The run with the highest count, of equal ones the latest; weeks count as 7 dates.
public func bestRun(_ runs: some Sequence<HabitRun>) -> HabitRun? {
    runs.max { one, other in
        let (left, right) = (one.count * one.unit.dates, other.count * other.unit.dates)
        return (left, one.from) < (right, other.from)
    }
}

/// The milestones of a habit up to the next one (HA-11), for its detail screen.
public struct HabitMilestone: Hashable, Sendable {
    public var count: Int
    /// Whether the present run has reached it.
    public var isReached: Bool
    /// Whether the longest run has.
    public var wasReached: Bool

    /// Those that the longest run has reached, and the next one after the present count.
    public static func list(_ milestones: Milestones, count: Int, longest: Int) -> [HabitMilestone] {
        var list: [HabitMilestone] = []
        var reached = 0
        while let next = milestones.next(after: reached) {
            list.append(HabitMilestone(count: next, isReached: next <= count, wasReached: next <= max(count, longest)))
            if next > max(count, longest) { break }
            reached = next
        }
        return list
    }
}
