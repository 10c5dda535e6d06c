public import Kernel

/// A point of a chart: the slots that end on some dates.
public struct HabitPoint: Hashable, Sendable {
    public var dates: ClosedRange<CalendarDate>
    public var rate = HabitRate()
    /// How many dates are done, extra ones too.
    public var datesDone = 0

    public init(_ dates: ClosedRange<CalendarDate>, rate: HabitRate = HabitRate(), datesDone: Int = 0) {
        (self.dates, self.rate, self.datesDone) = (dates, rate, datesDone)
    }
}

/// A day of the week: on how many of those dates that could be done something was.
///
/// No slots: a week that asks for three dates has none that belongs to a weekday, but its dates have.
public struct HabitWeekday: Hashable, Sendable {
    /// Dates that are done and were due, or are of a weekly habit.
    public var done = 0
    /// Dates that are over and could be done, and open ones that are done.
    public var dates = 0

    public init(done: Int = 0, dates: Int = 0) { (self.done, self.dates) = (done, dates) }

    public var rate: HabitRate { HabitRate(done: done, counted: dates) }
}

extension HabitWindow {
    /// What the points of its chart are.
    public enum Bucket: String, Hashable, Sendable, CaseIterable {
        case date, week, month
    }

    /// Dates for a week and a month, weeks for a year, months for all time.
    public var bucket: Bucket {
        switch self {
        case .week, .month: .date
        case .year: .week
        case .allTime: .month
        }
    }

    /// The dates of each point of its chart, in order: they make up the window without a gap. The first and the last week or month are cut by
    /// its ends.
    ///
    /// - Parameter weekStart: the weekday that weeks begin with, 0 = Sunday … 6.
    public func buckets(until today: CalendarDate, since start: CalendarDate, weekStart: Int) -> [ClosedRange<CalendarDate>] {
        let dates = dates(until: today, since: start)
        var buckets: [ClosedRange<CalendarDate>] = []
        var from = dates.lowerBound
        while from <= dates.upperBound {
            let through = min(dates.upperBound, lastDate(ofBucketWith: from, weekStart: weekStart))
            buckets.append(from...through)
            from = through.advanced(by: 1)
        }
        return buckets
    }

    private func lastDate(ofBucketWith date: CalendarDate, weekStart: Int) -> CalendarDate {
        switch bucket {
        case .date: return date
        case .week: return Schedule.timesPerWeek(1).slot(of: date, weekStart: weekStart).upperBound
        case .month:
            let (year, month, day) = date.components
            return date.advanced(by: CalendarDate.length(ofMonth: month, year: year) - day)
        }
    }

    /// How many of the last dates the list of habits shows as squares: 7, or four weeks.
    public var squares: Int { self == .week ? 7 : 28 }
}

/// The figures of a window from the marks of one habit or several (HA-16): rates, those of the window before it, the points of the chart, and
/// the days of the week.
public struct HabitFigures: Hashable, Sendable {
    /// What one habit adds.
    public struct Part: Hashable, Sendable {
        public var rate = HabitRate()
        public var before = HabitRate()
        public var datesDone = 0

        /// Nothing.
        public init() {}
    }

    public let window: HabitWindow
    public let today: CalendarDate
    /// The sums over all habits.
    public private(set) var total = Part()
    public private(set) var points: [HabitPoint]
    /// Those of the window before, where the points are dates.
    public private(set) var pointsBefore: [HabitPoint]
    /// 0 = Sunday … 6.
    public private(set) var weekdays = [HabitWeekday](repeating: HabitWeekday(), count: 7)
    /// The place of the point of each date of the window.
    private let places: [Int]

    /// The figures before any habit is added.
    ///
    /// - Parameters:
    ///   - start: the first date of the first habit; all time begins with it.
    ///   - weekStart: see `HabitWindow.buckets`.
    public init(_ window: HabitWindow, until today: CalendarDate, since start: CalendarDate, weekStart: Int = 1) {
        (self.window, self.today) = (window, today)
        let buckets = window.buckets(until: today, since: start, weekStart: weekStart)
        points = buckets.map { HabitPoint($0) }
        places = buckets.enumerated().flatMap { index, dates in repeatElement(index, count: dates.count) }
        pointsBefore = window.bucket == .date ? window.datesBefore(today)?.map { HabitPoint($0...$0) } ?? [] : []
    }

    /// In points of a hundred against the window before; nil when either has no rate.
    public var trend: Int? { total.rate.trend(since: total.before) }

    /// Adds a habit.
    ///
    /// - Returns: its own part.
    @discardableResult
    public mutating func add(_ marks: HabitMarks) -> Part {
        guard let dates = points.first.map({ $0.dates.lowerBound...today }) else { return Part() }
        let table = MarkTable.all
        var part = Part()
        if let before = window.datesBefore(today) { addBefore(before, marks, table, &part) }
        let shift = dates.lowerBound.distance(to: marks.first)
        let (firstWeekday, present) = (marks.first.weekday, marks.first.distance(to: today))
        for index in marks.indices(dates) {
            let code = Int(marks.codes[index])
            let point = places[index + shift]
            points[point].rate.done += Int(table.done[code])
            points[point].rate.counted += Int(table.counted[code])
            part.rate.done += Int(table.done[code])
            part.rate.counted += Int(table.counted[code])
            // Today is not over: part of it may still become all of it.
            if table.couldBeDone[code], index != present || table.isDone[code] {
                let weekday = (firstWeekday + index) % 7
                weekdays[weekday].dates += 1
                if table.isDone[code] { weekdays[weekday].done += 1 }
            }
            guard table.isDone[code] else { continue }
            points[point].datesDone += 1
            part.datesDone += 1
        }
        addAhead(marks, table, &part)
        total.rate = total.rate + part.rate
        total.before = total.before + part.before
        total.datesDone += part.datesDone
        return part
    }

    private mutating func addBefore(
        _ before: ClosedRange<CalendarDate>,
        _ marks: HabitMarks,
        _ table: MarkTable,
        _ part: inout Part
    ) {
        let shift = before.lowerBound.distance(to: marks.first)
        for index in marks.indices(before) {
            let code = Int(marks.codes[index])
            part.before.done += Int(table.done[code])
            part.before.counted += Int(table.counted[code])
            guard !pointsBefore.isEmpty else { continue }
            pointsBefore[index + shift].rate.done += Int(table.done[code])
            pointsBefore[index + shift].rate.counted += Int(table.counted[code])
            if table.isDone[code] { pointsBefore[index + shift].datesDone += 1 }
        }
    }

    /// A week that is done counts before it is over: it belongs to the last point.
    private mutating func addAhead(_ marks: HabitMarks, _ table: MarkTable, _ part: inout Part) {
        guard let last = points.indices.last else { return }
        for index in marks.indices(today.advanced(by: 1)...CalendarDate(dayNumber: .max)) {
            let done = Int(table.done[Int(marks.codes[index])])
            points[last].rate = points[last].rate + HabitRate(done: done, counted: done)
            part.rate = part.rate + HabitRate(done: done, counted: done)
        }
    }
}

/// The order of the list of habits on the Statistics screen.
public enum HabitOrder: String, Hashable, Sendable, CaseIterable {
    case name, rate, streak
}

/// What the list of habits is ordered by.
public struct HabitPerformance: Hashable, Sendable {
    public var name: String
    public var rate: HabitRate
    /// The present run.
    public var count: Int
    public var unit: Schedule.Unit

    public init(name: String, rate: HabitRate, count: Int, unit: Schedule.Unit) {
        (self.name, self.rate, self.count, self.unit) = (name, rate, count, unit)
    }

    /// Whether it comes before another: by name without regard to case; by rate or streak the highest first, without a rate last, weeks as 7
    /// dates. nil: neither.
    func precedes(_ other: Self, _ order: HabitOrder) -> Bool? {
        switch order {
        case .name:
            let (left, right) = (name.lowercased(), other.name.lowercased())
            return left == right ? nil : left < right
        case .rate:
            let (left, right) = (rate.share ?? -1, other.rate.share ?? -1)
            if left != right { return left > right }
            return rate.counted == other.rate.counted ? nil : rate.counted > other.rate.counted
        case .streak:
            let (left, right) = (count * unit.dates, other.count * other.unit.dates)
            return left == right ? nil : left > right
        }
    }
}

extension Sequence {
    /// In an order; what is equal keeps its place.
    public func sorted(by order: HabitOrder, _ performance: (Element) -> HabitPerformance) -> [Element] {
        map { ($0, performance($0)) }.enumerated().sorted { one, other in
            one.element.1.precedes(other.element.1, order) ?? (one.offset < other.offset)
        }
        .map(\.element.0)
    }
}

extension [HabitConsistency?] {
    /// The place of the most consistent one: the highest score, of equal ones the one with more dates done a week, then the first; nil when
    /// none has a score.
    public var mostConsistent: Int? {
        var best: (place: Int, of: HabitConsistency)?
        for (place, element) in enumerated() {
            guard let element else { continue }
            guard let known = best?.of else {
                best = (place, element)
                continue
            }
            if (known.score, known.tenthsOfDatesPerWeek) < (element.score, element.tenthsOfDatesPerWeek) {
                best = (place, element)
            }
        }
        return best?.place
    }
}
