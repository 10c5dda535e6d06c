public import Kernel

/// Which columns of any other CSV file mean what: the caller says it, nothing is guessed (HA-6).
public struct HabitMapping: Hashable, Sendable {
    /// Between cells.
    public enum Separator: String, Hashable, Sendable, CaseIterable {
        case comma, semicolon, tab

        var byte: UInt8 {
            switch self {
            case .comma: UInt8(ascii: ",")
            case .semicolon: UInt8(ascii: ";")
            case .tab: 9
            }
        }
    }

    public var separator = Separator.comma
    /// The header of the column with the names; nil: all rows are of `habitName`.
    public var name: String?
    public var habitName = ""
    /// The header of the column with the dates.
    public var date: String
    /// As `CalendarFormat`.
    public var dateFormat = "yyyy-MM-dd"
    /// The header of the column that says what became of the date; nil: every row with a value above 0, or without a value, is a completion.
    public var status: String?
    /// What the status says of a completion.
    public var completedWords: [String] = []
    /// What the status says of a skipped date. Rows with another status are left out.
    public var skippedWords: [String] = []
    public var value: String?
    public var note: String?

    public init(date: String) { self.date = date }
}

/// How dates are written: `yyyy`, `yy` (2000 … 2099), `MM` or `M`, `dd` or `d`, and any other characters between them. What follows a
/// date after a space or a T is a time and is not read.
public struct CalendarFormat: Sendable {
    private enum Part: Equatable {
        case year(digits: Int), month(digits: ClosedRange<Int>), day(digits: ClosedRange<Int>), other(UInt8)
    }

    private var parts: [Part] = []

    /// nil: it does not have year, month and day once each.
    public init?(_ pattern: String) {
        var rest = Array(pattern.utf8)[...]
        guard rest.count <= 32 else { return nil }
        while let first = rest.first {
            let run = rest.prefix { $0 == first }.count
            rest = rest.dropFirst([UInt8(ascii: "y"), UInt8(ascii: "M"), UInt8(ascii: "d")].contains(first) ? run : 1)
            switch (first, run) {
            case (UInt8(ascii: "y"), 2), (UInt8(ascii: "y"), 4): parts.append(.year(digits: run))
            case (UInt8(ascii: "M"), 1...2): parts.append(.month(digits: run...2))
            case (UInt8(ascii: "d"), 1...2): parts.append(.day(digits: run...2))
            case (UInt8(ascii: "y"), _), (UInt8(ascii: "M"), _), (UInt8(ascii: "d"), _): return nil
            default: parts.append(.other(first))
            }
        }
        let (years, months, days) = parts.reduce(into: (0, 0, 0)) { count, part in
            switch part {
            case .year: count.0 += 1
            case .month: count.1 += 1
            case .day: count.2 += 1
            case .other: break
            }
        }
        guard (years, months, days) == (1, 1, 1) else { return nil }
    }

    public func date(_ text: String) -> CalendarDate? {
        var rest = Array(text.utf8)[...]
        var (year, month, day) = (0, 0, 0)
        func number(_ digits: ClosedRange<Int>) -> Int? {
            let found = rest.prefix(digits.upperBound).prefix { (48...57).contains($0) }
            guard found.count >= digits.lowerBound else { return nil }
            rest = rest.dropFirst(found.count)
            return found.reduce(0) { $0 * 10 + Int($1 - 48) }
        }
        for part in parts {
            switch part {
            case .year(let digits):
                guard let value = number(digits...digits) else { return nil }
                year = digits == 2 ? 2000 + value : value
            case .month(let digits):
                guard let value = number(digits) else { return nil }
                month = value
            case .day(let digits):
                guard let value = number(digits) else { return nil }
                day = value
            case .other(let byte):
                guard rest.first == byte else { return nil }
                rest = rest.dropFirst()
            }
        }
        guard rest.isEmpty || rest.first == 32 || rest.first == UInt8(ascii: "T") else { return nil }
        return CalendarDate(year: year, month: month, day: day)
    }
}
