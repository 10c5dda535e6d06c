/// A calendar date (proleptic Gregorian) as a day number, so that date arithmetic is integer arithmetic.
public struct CalendarDate: Hashable, Comparable, Sendable, Strideable, CustomStringConvertible {
    /// Days since 1970-01-01.
    public let dayNumber: Int32

    /// A date from days since 1970-01-01.
    public init(dayNumber: Int32) { self.dayNumber = dayNumber }

    /// A date from its parts; nil when there is no such date.
    ///
    /// - Parameters:
    ///   - year: 1…9999.
    ///   - month: 1…12.
    ///   - day: 1…31, and in that month.
    public init?(year: Int, month: Int, day: Int) {
        guard (1...9999).contains(year), (1...12).contains(month),
            day >= 1, day <= CalendarDate.length(ofMonth: month, year: year)
        else { return nil }
        // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": days_from_civil.
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        self.dayNumber = Int32(era * 146_097 + dayOfEra - 719_468)
    }

    /// A date from `YYYY-MM-DD`; nil for anything else.
    public init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count == 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            let year = Self.number(bytes[0..<4]), let month = Self.number(bytes[5..<7]), let day = Self.number(bytes[8..<10])
        else { return nil }
        self.init(year: year, month: month, day: day)
    }

    /// Year, month (1…12) and day (1…31).
    public var components: (year: Int, month: Int, day: Int) {
        let shifted = Int(dayNumber) + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    /// Day of the week, 1 = Monday … 7 = Sunday (ISO 8601).
    public var isoWeekday: Int { Int((Int64(dayNumber) + 3).flooredDivision(by: 7).remainder) + 1 }

    /// `YYYY-MM-DD`.
    public var description: String {
        let (year, month, day) = components
        return "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))"
    }

    /// Days from this date to `other`; negative when `other` is earlier.
    public func distance(to other: CalendarDate) -> Int { Int(other.dayNumber) - Int(dayNumber) }

    /// The date `n` days later (earlier when negative), clamped to the first or last day number.
    public func advanced(by n: Int) -> CalendarDate {
        CalendarDate(dayNumber: Int32(clamping: Int64(dayNumber).clampedSum(with: Int64(n))))
    }

    public static func < (left: CalendarDate, right: CalendarDate) -> Bool { left.dayNumber < right.dayNumber }

    /// Days in a month (28…31).
    public static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: return 30
        default: return 31
        }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var value = 0
        for digit in digits {
            guard digit >= 48, digit <= 57 else { return nil }
            value = value * 10 + Int(digit - 48)
        }
        return value
    }

    static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension CalendarDate {
    /// This date and a later one in words: `Jan 5 – Mar 9, 2026`, `Dec 30, 2025 – Jan 2, 2026`; of one date `Jan 5, 2026`.
    public func words(through last: CalendarDate) -> String {
        let (year, lastYear) = (components.year, last.components.year)
        let end = "\(last.monthAndDay), \(lastYear)"
        if self >= last { return end }
        return monthAndDay + (year == lastYear ? "" : ", \(year)") + " – \(end)"
    }

    private var monthAndDay: String {
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let (_, month, day) = components
        return "\(names[month - 1]) \(day)"
    }
}
