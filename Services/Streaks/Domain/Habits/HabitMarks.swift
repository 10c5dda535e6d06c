public import Kernel

/// What statistics need of a date: what became of it and of the slot that ends on it, in one byte.
public struct HabitMark: Hashable, Sendable {
    public var status: HabitDay.Status
    /// nil when no slot ends on the date.
    public var outcome: HabitDay.Outcome?

    public init(_ status: HabitDay.Status, _ outcome: HabitDay.Outcome? = nil) { (self.status, self.outcome) = (status, outcome) }

    /// status + 16 × outcome, without an outcome the status alone; never 0.
    public var code: UInt8 { UInt8(status.rawValue) + 16 * UInt8(outcome?.rawValue ?? 0) }

    /// nil for a byte that is no code.
    public init?(code: UInt8) {
        guard let status = HabitDay.Status(rawValue: Int32(code & 15)) else { return nil }
        if code < 16 {
            self.init(status)
        } else {
            guard let outcome = HabitDay.Outcome(rawValue: Int32(code >> 4)) else { return nil }
            self.init(status, outcome)
        }
    }

    /// What it adds to a rate.
    public var rate: HabitRate { outcome?.rate ?? HabitRate() }

    /// Whether the date is done, due or not.
    public var isDone: Bool { status == .done || status == .extra }

    /// Whether the date is over and could be done: it was due, or is one of a weekly habit that may be done on any.
    public var couldBeDone: Bool {
        switch status {
        case .done, .missed, .partial, .free: true
        case .open, .skipped, .paused, .archived, .excused, .notDue, .extra: false
        }
    }

    /// Whether the date is due by itself. Of a weekly habit it is when it is done, or open on the last date of its week with one missing.
    var isDue: Bool {
        switch status {
        case .done, .missed: true
        case .partial, .open: outcome != nil
        case .skipped, .paused, .archived, .excused, .notDue, .extra, .free: false
        }
    }
}

extension HabitDay {
    public var mark: HabitMark { HabitMark(status, outcome) }
}

/// The marks of a habit, date by date.
public struct HabitMarks: Hashable, Sendable {
    /// The date of the first mark.
    public let first: CalendarDate
    /// The code of each date from `first` on; 0 where the habit has no row.
    public let codes: [UInt8]

    /// nil when a byte is neither 0 nor the code of a mark.
    public init?(from first: CalendarDate, codes: [UInt8]) {
        guard codes.allSatisfy({ $0 == 0 || ($0 < 128 && MarkTable.all.isKnown[Int($0)]) }) else { return nil }
        (self.first, self.codes) = (first, codes)
    }

    /// From days in any order.
    public init(_ days: some Collection<(date: CalendarDate, day: HabitDay)>) {
        let first = days.lazy.map(\.date).min() ?? CalendarDate(dayNumber: 0)
        let count = days.lazy.map { first.distance(to: $0.date) + 1 }.max() ?? 0
        var codes = [UInt8](repeating: 0, count: count)
        for (date, day) in days { codes[first.distance(to: date)] = day.mark.code }
        (self.first, self.codes) = (first, codes)
    }

    /// nil where the habit has no row.
    public subscript(_ date: CalendarDate) -> HabitMark? {
        let offset = first.distance(to: date)
        return codes.indices.contains(offset) ? HabitMark(code: codes[offset]) : nil
    }

    /// The places of the dates of a range, those that there are.
    func indices(_ dates: ClosedRange<CalendarDate>) -> Range<Int> {
        let from = max(0, first.distance(to: dates.lowerBound))
        let end = min(codes.count, first.distance(to: dates.upperBound) + 1)
        return from..<max(from, end)
    }
}

/// What each code means, looked up instead of computed: statistics of ten years read hundreds of thousands.
struct MarkTable: Sendable {
    /// By code, 0…127; a code that is none has the zero of each.
    var isKnown = [Bool](repeating: false, count: 128)
    var done = [UInt8](repeating: 0, count: 128)
    var counted = [UInt8](repeating: 0, count: 128)
    var isDone = [Bool](repeating: false, count: 128)
    var couldBeDone = [Bool](repeating: false, count: 128)
    var isDue = [Bool](repeating: false, count: 128)

    static let all = Self()

    private init() {
        for code in 1..<128 {
            guard let mark = HabitMark(code: UInt8(code)) else { continue }
            isKnown[code] = true
            (done[code], counted[code]) = (UInt8(mark.rate.done), UInt8(mark.rate.counted))
            (isDone[code], couldBeDone[code], isDue[code]) = (mark.isDone, mark.couldBeDone, mark.isDue)
        }
    }
}
