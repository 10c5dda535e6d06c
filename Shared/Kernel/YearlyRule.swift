/// When summer time begins and ends each year, in the form of POSIX's `TZ`: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct YearlyRule: Sendable {
    private struct Summer {
        let offset: Int64
        let start, end: Change
    }

    /// A day of the year and seconds after its midnight, by the clock before the change.
    private struct Change {
        enum Day {
            /// 1…365; 29 February is never counted.
            case julian(Int)
            /// 0…365.
            case zeroBased(Int)
            /// The weekday (0 is Sunday) in week 1…5 of the month; 5 is the last.
            case weekday(month: Int, week: Int, weekday: Int)
        }

        let day: Day
        let time: Int64
    }

    private let offset: Int64
    private let summer: Summer?

    /// A rule from its text; nil for anything else.
    init?(_ text: some Sequence<UInt8>) {
        var parser = Parser(rest: Array(text)[...])
        guard parser.name(), let west = parser.time() else { return nil }
        offset = -west
        guard !parser.isAtEnd else {
            summer = nil
            return
        }
        guard parser.name() else { return nil }
        // One hour ahead by default.
        var summerOffset = offset + 3_600
        if !parser.isAt(",") {
            guard let west = parser.time() else { return nil }
            summerOffset = -west
        }
        guard let start = parser.change(), let end = parser.change(), parser.isAtEnd else { return nil }
        summer = Summer(offset: summerOffset, start: start, end: end)
    }

    /// Seconds east of UTC at an instant.
    func offset(at seconds: Int64) -> Int64 {
        guard let summer else { return offset }
        let today = CalendarDate(dayNumber: Int32(clamping: (seconds + offset).flooredDivision(by: 86_400).quotient))
        let year = today.components.year
        let start = Self.time(of: summer.start, year: year) - offset
        let end = Self.time(of: summer.end, year: year) - summer.offset
        // South of the equator, and in Ireland's winter time, it lasts over New Year.
        let isSummer = start < end ? start <= seconds && seconds < end : start <= seconds || seconds < end
        return isSummer ? summer.offset : offset
    }

    /// The seconds at which summer time begins and ends.
    func changes(in range: Range<Int64>) -> [Int64] {
        guard let summer else { return [] }
        func year(_ seconds: Int64) -> Int {
            CalendarDate(dayNumber: Int32(clamping: seconds.flooredDivision(by: 86_400).quotient)).components.year
        }
        // A change of New Year may lie in the year before by UTC.
        return (year(range.lowerBound) - 1...year(range.upperBound) + 1).flatMap { year in
            [Self.time(of: summer.start, year: year) - offset, Self.time(of: summer.end, year: year) - summer.offset]
        }.filter(range.contains)
    }

    /// Seconds from the epoch to the change, both by the zone's own clock.
    private static func time(of change: Change, year: Int) -> Int64 {
        let newYear = dayNumber(year, 1)
        let day =
            switch change.day {
            case .zeroBased(let day): newYear + day
            case .julian(let day):
                newYear + day - (day >= 60 && CalendarDate.length(ofMonth: 2, year: year) == 29 ? 0 : 1)
            case .weekday(let month, let week, let weekday): Self.day(weekday, week: week, month: month, year: year)
            }
        return Int64(day) * 86_400 + change.time
    }

    private static func day(_ weekday: Int, week: Int, month: Int, year: Int) -> Int {
        let first = dayNumber(year, month)
        // ISO counts Sunday as 7.
        let weekdayOfFirst = CalendarDate(dayNumber: Int32(clamping: first)).isoWeekday % 7
        let day = first + (weekday - weekdayOfFirst + 7) % 7 + (week - 1) * 7
        return day < first + CalendarDate.length(ofMonth: month, year: year) ? day : day - 7
    }

    private static func dayNumber(_ year: Int, _ month: Int) -> Int {
        Int(CalendarDate(year: year, month: month, day: 1)?.dayNumber ?? 0)
    }

    private struct Parser {
        var rest: ArraySlice<UInt8>

        var isAtEnd: Bool { rest.isEmpty }

        func isAt(_ character: Character) -> Bool { rest.first == character.asciiValue }

        mutating func take(_ character: Character) -> Bool {
            guard isAt(character) else { return false }
            rest.removeFirst()
            return true
        }

        /// `CET` or `<+0330>`: skipped.
        mutating func name() -> Bool {
            if take("<") {
                guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return false }
                rest = rest[(end + 1)...]
                return true
            }
            let letters = rest.prefix { $0 & 0xDF >= UInt8(ascii: "A") && $0 & 0xDF <= UInt8(ascii: "Z") }
            rest.removeFirst(letters.count)
            return letters.count >= 3
        }

        mutating func number(_ range: ClosedRange<Int>) -> Int? {
            let digits = rest.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
            guard (1...3).contains(digits.count) else { return nil }
            rest.removeFirst(digits.count)
            let value = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
            return range.contains(value) ? value : nil
        }

        /// `[+-]hh[:mm[:ss]]` in seconds.
        mutating func time() -> Int64? {
            let isNegative = take("-")
            if !isNegative { _ = take("+") }
            guard let hours = number(0...167) else { return nil }
            var seconds = hours * 3_600
            for unit in [60, 1] where take(":") {
                guard let value = number(0...59) else { return nil }
                seconds += value * unit
            }
            return Int64(isNegative ? -seconds : seconds)
        }

        /// `,M10.5.0/3`; two o'clock by default.
        mutating func change() -> Change? {
            guard take(","), let day = day() else { return nil }
            guard take("/") else { return Change(day: day, time: 7_200) }
            return time().map { Change(day: day, time: $0) }
        }

        private mutating func day() -> Change.Day? {
            if take("M") {
                guard let month = number(1...12), take("."), let week = number(1...5), take("."), let weekday = number(0...6)
                else {
                    return nil
                }
                return .weekday(month: month, week: week, weekday: weekday)
            }
            return take("J") ? number(1...365).map { .julian($0) } : number(0...365).map { .zeroBased($0) }
        }
    }
}
