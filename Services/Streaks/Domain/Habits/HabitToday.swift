/// A part of the day, of the Today screen and of the analysis of times (HA-15, HA-16).
public enum PartOfDay: String, Hashable, Sendable, CaseIterable {
    case morning, afternoon, evening

    /// - Parameter hour: 0…23, of a reminder or of a completion whose time is known.
    public init(hour: Int) {
        self = hour < 12 ? .morning : hour < 18 ? .afternoon : .evening
    }
}

/// A habit on the Today screen.
public struct HabitOfToday: Hashable, Sendable {
    public var day: HabitDay
    /// The week of that date, of a weekly habit.
    public var week: HabitWeek?
    /// The hour of its reminder; nil: anytime.
    public var reminderHour: Int?

    public init(day: HabitDay, week: HabitWeek? = nil, reminderHour: Int? = nil) {
        (self.day, self.week, self.reminderHour) = (day, week, reminderHour)
    }

    /// Whether it is in the total: due and not excused; a weekly one when it is done on the date or cannot wait (HA-15).
    public var counts: Bool {
        switch day.status {
        case .done: true
        case .partial, .missed, .open, .free: week.map(\.cannotWait) ?? true
        case .skipped, .paused, .archived, .excused, .notDue, .extra: false
        }
    }

    /// Whether the screen lists it: everything that can be done on the date or was.
    public var isListed: Bool {
        switch day.status {
        case .done, .partial, .missed, .open, .free, .skipped, .excused, .extra: true
        case .paused, .archived, .notDue: false
        }
    }

    /// nil: anytime.
    public var section: PartOfDay? { reminderHour.map(PartOfDay.init(hour:)) }
}

/// The head of the Today screen (HA-15).
public struct HabitDaySummary: Hashable, Sendable {
    /// Why nothing is to be done.
    public enum EmptyReason: String, Hashable, Sendable, CaseIterable {
        case noHabits = "no_habits"
        case noneDue = "none_due"
    }

    public var done: Int
    public var total: Int
    /// 0…100, rounded down, so that 100 means all.
    public var percent: Int
    /// The text of the tier; nil when nothing is due.
    public var text: String?
    public var emptyReason: EmptyReason?

    /// - Parameter habits: all that are not in the archive.
    public init(_ habits: some Collection<HabitOfToday>) {
        total = habits.count(where: \.counts)
        done = habits.count { $0.counts && $0.day.status == .done }
        percent = total > 0 ? done * 100 / total : 0
        text = total > 0 ? Self.text(percent) : nil
        emptyReason = habits.isEmpty ? .noHabits : total == 0 ? .noneDue : nil
    }

    /// Whether a date with something due is complete.
    public var isComplete: Bool { total > 0 && done == total }

    private static func text(_ percent: Int) -> String {
        switch percent {
        case ..<50: "Keep going!"
        case ..<75: "Halfway there!"
        case ..<100: "Almost done!"
        default: "Perfect!"
        }
    }
}
