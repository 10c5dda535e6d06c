public import Kernel

/// A month of the calendar.
public struct CalendarMonth: Hashable, Sendable, CustomStringConvertible {
    /// Its first date.
    public let first: CalendarDate

    /// From `YYYY-MM`; nil for anything else.
    public init?(_ text: String) {
        guard text.utf8.count == 7, let first = CalendarDate(text + "-01") else { return nil }
        self.first = first
    }

    /// The month a date lies in.
    public init(containing date: CalendarDate) { first = date.advanced(by: 1 - date.components.day) }

    /// All its dates.
    public var dates: ClosedRange<CalendarDate> {
        let (year, month, _) = first.components
        return first...first.advanced(by: CalendarDate.length(ofMonth: month, year: year) - 1)
    }

    /// `YYYY-MM`.
    public var description: String { String(first.description.prefix(7)) }
}

extension MutualView {
    /// A date as the reader of a calendar sees it (MS-5).
    public struct Day: Hashable, Sendable {
        public let date: CalendarDate
        public let mark: CalendarMark
        public let youPosted: Bool
        public let friendPosted: Bool
    }

    /// Dates of the reader's calendar. The ledger must be whole: dates that its checkpoint hides would be marked none.
    public static func days(
        _ dates: some Sequence<CalendarDate>,
        _ ledger: StreakLedger,
        _ state: StreakState,
        reader: UserID
    ) -> [Day] {
        dates.map { date in
            let posted = ledger.contributions(to: date, known: state.asOf)
            let youPosted = posted.contains { $0.user == reader }
            let friendPosted = posted.contains { $0.user != reader }
            return Day(
                date: date,
                mark: mark(state.mark(on: date), youPosted: youPosted, friendPosted: friendPosted),
                youPosted: youPosted,
                friendPosted: friendPosted
            )
        }
    }
}

/// A year of all of a user's streaks together.
public struct HeatMap: Hashable, Sendable {
    /// A date: in how many streaks its reader posted for it, and in how many both did.
    public struct Day: Hashable, Sendable {
        public let date: CalendarDate
        public let posted: Int
        public let completed: Int

        public init(date: CalendarDate, posted: Int, completed: Int) {
            self.date = date
            self.posted = posted
            self.completed = completed
        }
    }

    /// Every date, in order.
    public let days: [Day]
    /// Dates with at least one of them.
    public var postedDates: Int { days.count { $0.posted > 0 } }
    public var completedDates: Int { days.count { $0.completed > 0 } }
    /// The most completed on one date.
    public var mostCompleted: Int { days.map(\.completed).max() ?? 0 }

    /// - Parameter known: the dates on which anything happened, in any order; those outside are left out.
    public init(_ dates: ClosedRange<CalendarDate>, _ known: [Day]) {
        let byDate = Dictionary(known.map { ($0.date, $0) }) { first, _ in first }
        days = dates.map { byDate[$0] ?? Day(date: $0, posted: 0, completed: 0) }
    }

    /// The dates of a year; nil when it is not one of 1…9999.
    public static func dates(of year: Int) -> ClosedRange<CalendarDate>? {
        guard let first = CalendarDate(year: year, month: 1, day: 1), let last = CalendarDate(year: year, month: 12, day: 31)
        else { return nil }
        return first...last
    }
}
