public import Kernel

/// Weeks from Monday to Sunday and calendar months with a check-in on every date (CI-6).
public enum PerfectPeriods {
    /// A week or a month.
    public enum Kind: String, Hashable, Sendable {
        case week = "perfect_week"
        case month = "perfect_month"

        /// What it adds, in percent of the base XP of its check-ins.
        public var percent: Int {
            switch self {
            case .week: XPRules.perfectWeekPercent
            case .month: XPRules.perfectMonthPercent
            }
        }
    }

    /// A perfect one.
    public struct Period: Hashable, Sendable {
        public let kind: Kind
        public let dates: ClosedRange<CalendarDate>
        /// How many of its dates had a check-in; the others were excused.
        public let checkIns: Int
        /// Names it: `perfect_week:2026-01-05`.
        public var key: String { "\(kind.rawValue):\(dates.lowerBound)" }
        /// XP that it adds: of base XP, rounded half up.
        public var xp: Int { XPRules.share(kind.percent, of: XPRules.checkIn * checkIns) }
    }

    /// The week that a date is in.
    public static func week(of date: CalendarDate) -> ClosedRange<CalendarDate> {
        let monday = date.advanced(by: 1 - date.isoWeekday)
        return monday...monday.advanced(by: 6)
    }

    /// The month that a date is in.
    public static func month(of date: CalendarDate) -> ClosedRange<CalendarDate> {
        let (year, month, day) = date.components
        let first = date.advanced(by: 1 - day)
        return first...first.advanced(by: CalendarDate.length(ofMonth: month, year: year) - 1)
    }

    /// Those that a check-in of `date` may have completed and that are complete: its own week and month, and the ones before, whose last
    /// dates may have been excused.
    ///
    /// - Parameters:
    ///   - checkedIn: dates with a check-in, this one too.
    ///   - excused: whether a date without one was lost to an outage or hardly seen. A pause, a freeze and a repair excuse nothing here.
    public static func completed(
        by date: CalendarDate,
        checkedIn: Set<CalendarDate>,
        excused: (CalendarDate) -> Bool
    ) -> [Period] {
        let (week, month) = (week(of: date), month(of: date))
        let candidates: [(Kind, ClosedRange<CalendarDate>)] = [
            (.week, week), (.week, self.week(of: week.lowerBound.advanced(by: -1))), (.month, month),
            (.month, self.month(of: month.lowerBound.advanced(by: -1))),
        ]
        return candidates.compactMap { kind, dates in
            var count = 0
            var date = dates.lowerBound
            while date <= dates.upperBound {
                if checkedIn.contains(date) { count += 1 } else if !excused(date) { return nil }
                date = date.advanced(by: 1)
            }
            return count > 0 ? Period(kind: kind, dates: dates, checkIns: count) : nil
        }
    }

    /// The dates that `completed` asks about.
    public static func dates(around date: CalendarDate) -> ClosedRange<CalendarDate> {
        let (week, month) = (week(of: date), month(of: date))
        let earlier = min(week.lowerBound.advanced(by: -7), self.month(of: month.lowerBound.advanced(by: -1)).lowerBound)
        return earlier...max(week.upperBound, month.upperBound)
    }
}
