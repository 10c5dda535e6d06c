public import Kernel

/// A calendar of several habits: how much of each date was done.
public struct HabitHeat: Hashable, Sendable {
    public struct Cell: Hashable, Sendable {
        /// Due dates that are done, of how many that are due and not excused. A date of a weekly habit is due when it is done.
        public var done = 0
        public var due = 0
        /// Of those that are due: begun, but not enough.
        public var partial = 0
        /// Done although nothing was due.
        public var extra = 0

        public init(done: Int = 0, due: Int = 0, partial: Int = 0, extra: Int = 0) {
            (self.done, self.due, self.partial, self.extra) = (done, due, partial, extra)
        }

        /// 0…100; nil when nothing is due.
        public var percent: Int? { HabitRate(done: done, counted: due).percent }
    }

    public let dates: ClosedRange<CalendarDate>
    /// Of each date, in order.
    public private(set) var cells: [Cell]

    public init(_ dates: ClosedRange<CalendarDate>) {
        self.dates = dates
        cells = Array(repeating: Cell(), count: dates.count)
    }

    public mutating func add(_ marks: HabitMarks) {
        let shift = dates.lowerBound.distance(to: marks.first)
        for index in marks.indices(dates) {
            guard let mark = HabitMark(code: marks.codes[index]) else { continue }
            if mark.status == .extra { cells[index + shift].extra += 1 }
            guard mark.isDue else { continue }
            cells[index + shift].due += 1
            if mark.status == .done { cells[index + shift].done += 1 }
            if mark.status == .partial { cells[index + shift].partial += 1 }
        }
    }
}
