public import Kernel

/// When a habit reaches its next milestone at its present pace (HA-4), and under which assumption.
///
/// A run that misses nothing reaches it after `remaining` more slots. Skips keep the run and delay it, so at a pace of `skipped` skips to
/// `done` slots it takes ⌈remaining × (done + skipped) / done⌉ due ones. That none of the remaining is missed has the chance rateʳᵉᵐᵃⁱⁿⁱⁿᵍ,
/// with the rate of the last 90 dates; below one half there is no date, since the run would sooner break.
public struct HabitProjection: Hashable, Sendable {
    /// The last 90 dates (those of `HabitConsistency`).
    public struct Pace: Hashable, Sendable {
        public var rate: HabitRate
        /// As for the grade: of the slots that counted.
        public var dueDates: Int
        /// Skipped slots.
        public var skipped: Int

        public init(rate: HabitRate, dueDates: Int, skipped: Int) {
            (self.rate, self.dueDates, self.skipped) = (rate, dueDates, skipped)
        }
    }

    /// What is due from now on.
    public struct Ahead: Hashable, Sendable {
        public var schedule: Schedule
        public var weekStart: Int
        /// The first date that may still extend the run; of a weekly habit a date of the first week that may.
        public var from: CalendarDate
        /// Pauses that are known.
        public var pauses: [ClosedRange<CalendarDate>]

        public init(_ schedule: Schedule, weekStart: Int, from: CalendarDate, pauses: [ClosedRange<CalendarDate>] = []) {
            (self.schedule, self.weekStart, self.from, self.pauses) = (schedule, weekStart, from, pauses)
        }
    }

    /// Why there is no date.
    public enum Obstacle: String, Hashable, Sendable, CaseIterable {
        /// Fewer than 7 due dates counted, or none was done: there is no pace yet.
        case noPace = "no_pace"
        /// At the present rate the run would sooner break.
        case unlikely
        /// More than ten years away.
        case tooFar = "too_far"
    }

    public var milestone: Int
    /// Slots until then.
    public var remaining: Int
    public var unit: Schedule.Unit
    /// nil when there is an obstacle.
    public var date: CalendarDate?
    public var obstacle: Obstacle?
    /// That nothing is missed until then, in hundredths, rounded down; nil without a pace.
    public var chance: Int?
    /// What the date assumes; nil without one.
    public var assumption: String?

    /// How far ahead it looks.
    public static let reach = 3_652

    /// nil after the last milestone.
    ///
    /// - Parameter count: of the present run.
    public init?(_ milestones: Milestones, count: Int, _ pace: Pace, _ ahead: Ahead) {
        guard let next = milestones.next(after: count) else { return nil }
        (milestone, remaining, unit) = (next, next - count, ahead.schedule.unit)
        guard pace.dueDates >= HabitConsistency.fewestDueDates, let rate = pace.rate.share, rate > 0 else {
            obstacle = .noPace
            return
        }
        let likely = Self.power(rate, remaining)
        chance = Int(likely * 100)
        guard likely >= 0.5 else {
            obstacle = .unlikely
            return
        }
        let skipped = unit == .dates ? pace.skipped : 0
        let due = (remaining * (pace.rate.done + skipped) + pace.rate.done - 1) / pace.rate.done
        guard let date = ahead.date(ofSlot: due, within: Self.reach) else {
            obstacle = .tooFar
            return
        }
        self.date = date
        assumption = Self.assumption(remaining, of: due, unit)
    }

    /// The projection as a sentence (HA-4).
    public var text: String {
        let streak = "\(milestone)-\(unit == .weeks ? "week" : "day") streak"
        if let date { return "At your current pace, you'll reach a \(streak) by \(date.words(through: date))" }
        switch obstacle {
        case .unlikely: return "A \(streak) takes a steadier pace than that of the last \(HabitConsistency.reach) days"
        case .tooFar: return "A \(streak) is more than ten years away"
        case .noPace, nil: return "It is too early to say when you'll reach a \(streak)"
        }
    }

    private static func assumption(_ remaining: Int, of due: Int, _ unit: Schedule.Unit) -> String {
        if due > remaining { return "If you complete \(remaining) of the next \(due) due days and skip the others" }
        let name = unit == .weeks ? "week" : "due day"
        return remaining == 1 ? "If you complete the next \(name)" : "If you complete each of the next \(remaining) \(name)s"
    }

    private static func power(_ base: Double, _ exponent: Int) -> Double {
        var (result, square, rest) = (1.0, base, exponent)
        while rest > 0 {
            if rest & 1 == 1 { result *= square }
            square *= square
            rest >>= 1
        }
        return result
    }
}

extension HabitProjection.Ahead {
    /// The date on which the n-th slot that counts ends; nil when it is further away than so many dates. What lies in a pause does not count.
    func date(ofSlot number: Int, within reach: Int) -> CalendarDate? {
        var (date, left) = (from, number)
        let last = from.advanced(by: reach)
        while date <= last {
            let slot = schedule.slot(of: date, weekStart: weekStart)
            let isPaused = pauses.contains { $0.lowerBound <= date && slot.upperBound <= $0.upperBound }
            if schedule.includes(date), !isPaused { left -= 1 }
            if left <= 0 { return slot.upperBound }
            date = slot.upperBound.advanced(by: 1)
        }
        return nil
    }
}
