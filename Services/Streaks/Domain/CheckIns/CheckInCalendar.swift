public import Kernel

/// What a check-in streak's dates look like to its owner: the fold's marks, and the count on each date.
public struct CheckInCalendar: Sendable {
    /// One date.
    public struct Day: Hashable, Sendable {
        public let date: CalendarDate
        public let mark: StreakState.Mark
        /// The streak with this date: what it had grown to, or was left at.
        public let count: Int
    }

    /// Ascending.
    public let days: [Day]

    /// The dates of `range` of a state that was folded from the start of its ledger.
    ///
    /// - Parameter first: the streak's first date.
    public init(_ state: StreakState, first: CalendarDate, in range: ClosedRange<CalendarDate>) {
        var days: [Day] = []
        var count = 0
        var date = min(first, range.lowerBound)
        while date <= range.upperBound {
            let mark = state.mark(on: date)
            switch mark {
            case .complete, .frozen, .filled: count += 1
            case .missed: count = 0
            case .open, .none, .neutral, .covered: break
            }
            if range.contains(date) { days.append(Day(date: date, mark: mark, count: count)) }
            date = date.advanced(by: 1)
        }
        self.days = days
    }
}

extension StreakState.Mark {
    /// The word of a check-in history (`HistoryDate.status`).
    public var historyStatus: String {
        switch self {
        case .complete: "checked_in"
        case .open: "open"
        case .none: "none"
        case .neutral: "excused"
        case .covered, .filled: "covered"
        case .frozen: "frozen"
        case .missed: "missed"
        }
    }
}
