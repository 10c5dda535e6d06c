public import Kernel

/// On which dates something is due (HA-1).
public enum Schedule: Hashable, Sendable {
    case daily
    /// 0 = Sunday … 6 = Saturday (HA-9).
    case weekdays(Set<Int>)
    /// Every n-th date, counted from `from` in both directions, 1…365.
    case everyNthDate(Int, from: CalendarDate)
    /// Days of the month, 1…31; a day a month does not have is not due in it.
    case daysOfMonth(Set<Int>)
    /// So many dates of each week, whichever, 1…7: the streak counts weeks (HA-3).
    case timesPerWeek(Int)

    /// What a schedule counts.
    public enum Unit: Hashable, Sendable, CaseIterable {
        case dates
        case weeks
    }

    /// What a streak on this schedule counts.
    public var unit: Unit { if case .timesPerWeek = self { .weeks } else { .dates } }

    /// Whether contributions on `date` can count.
    public func includes(_ date: CalendarDate) -> Bool {
        switch self {
        case .daily, .timesPerWeek: true
        case .weekdays(let days): days.contains(date.weekday)
        case .everyNthDate(let step, let from): step > 0 && from.distance(to: date) % step == 0
        case .daysOfMonth(let days): days.contains(date.components.day)
        }
    }

    /// The dates that are judged together with `date`: itself, or its week.
    ///
    /// - Parameter weekStart: the weekday a week begins with, 0 = Sunday … 6; Monday when it is not given.
    func slot(of date: CalendarDate, weekStart: Int = 1) -> ClosedRange<CalendarDate> {
        guard unit == .weeks else { return date...date }
        let first = date.advanced(by: -((date.weekday - weekStart + 7) % 7))
        return first...first.advanced(by: 6)
    }

    /// How many dates of a slot must be complete.
    var needed: Int { if case .timesPerWeek(let times) = self { times } else { 1 } }

    /// - Throws: `VALIDATION_ERROR` for a schedule of nothing or of numbers out of their bounds (HA-9).
    public func validate(field: String) throws(ServiceError) {
        switch self {
        case .daily: break
        case .weekdays(let days):
            guard !days.isEmpty, days.allSatisfy((0...6).contains) else {
                throw .validation(field: field, "must be weekdays from 0 (Sunday) to 6, at least one")
            }
        case .everyNthDate(let step, _):
            guard (1...365).contains(step) else { throw .validation(field: field, "must be between 1 and 365") }
        case .daysOfMonth(let days):
            guard !days.isEmpty, days.allSatisfy((1...31).contains) else {
                throw .validation(field: field, "must be days from 1 to 31, at least one")
            }
        case .timesPerWeek(let times):
            guard (1...7).contains(times) else { throw .validation(field: field, "must be between 1 and 7") }
        }
    }
}

extension CalendarDate {
    /// 0 = Sunday … 6 = Saturday (HA-9).
    public var weekday: Int { isoWeekday % 7 }
}
