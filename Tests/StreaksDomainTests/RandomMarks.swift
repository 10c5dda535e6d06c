import Kernel
import StreaksDomain
import TestSupport

/// Random marks of habits, for the tests of statistics.
enum RandomMarks {
    /// Days as the engine makes them: of a daily habit or of one that counts weeks, with skips, pauses and dates that are not due, the last one
    /// open or not.
    static func days(_ random: inout Seeded, from first: CalendarDate, until today: CalendarDate)
        -> [(date: CalendarDate, day: HabitDay)]
    {
        let isWeekly = random.chance(30)
        let rate = Int.random(in: 5...95, using: &random)
        return (0...first.distance(to: today)).map { offset in
            let date = first.advanced(by: offset)
            let mark = isWeekly ? weekly(date, today, rate, &random) : daily(date, today, rate, &random)
            return (date, day(mark, &random))
        }
            + (isWeekly ? ahead(today, &random) : [])
    }

    private static func daily(_ date: CalendarDate, _ today: CalendarDate, _ rate: Int, _ random: inout Seeded) -> HabitMark {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<10: return HabitMark(random.pick([.notDue, .extra]))
        case ..<16: return HabitMark(random.pick([.skipped, .paused, .archived, .excused]), .excused)
        case ..<22: return HabitMark(.partial, date == today ? .open : .missed)
        default:
            if random.chance(rate) { return HabitMark(.done, .done) }
            return date == today ? HabitMark(.open, .open) : HabitMark(.missed, .missed)
        }
    }

    private static func weekly(_ date: CalendarDate, _ today: CalendarDate, _ rate: Int, _ random: inout Seeded) -> HabitMark {
        let isLast = date.weekday == 0
        let outcome: HabitDay.Outcome? = isLast ? (random.chance(rate) ? .done : date == today ? .open : .missed) : nil
        if random.chance(rate) { return HabitMark(.done, outcome) }
        return HabitMark(date == today ? .open : .free, outcome)
    }

    /// A week that is done ends after today.
    private static func ahead(_ today: CalendarDate, _ random: inout Seeded) -> [(date: CalendarDate, day: HabitDay)] {
        let left = (7 - today.weekday) % 7
        guard left > 0 else { return [] }
        let outcome: HabitDay.Outcome = random.chance(50) ? .done : .open
        return [(today.advanced(by: left), day(HabitMark(.open, outcome), &random))]
    }

    private static func day(_ mark: HabitMark, _ random: inout Seeded) -> HabitDay {
        HabitDay(
            status: mark.status,
            value: Amount(thousandths: Int64.random(in: 0...5000, using: &random)),
            completions: mark.isDone ? 1 : 0,
            target: nil,
            isOpen: mark.outcome == .open,
            outcome: mark.outcome,
            dueDates: mark.outcome == nil ? 0 : 1,
            brokeRun: false
        )
    }
}

/// Habits of a person for tests of pairs: dates on which each is done, with a rate for each date.
struct Person {
    let today: CalendarDate
    let dates: Int
    private(set) var habits: [[Bool]] = []
    var random: Seeded

    init(_ seed: UInt64, dates: Int, today: CalendarDate = CalendarDate(dayNumber: 20_600)) {
        (self.today, self.dates) = (today, dates)
        random = Seeded(seed &+ 977)
    }

    /// - Parameter rate: of a date, 0…1.
    mutating func add(_ rate: (Int) -> Double) {
        habits.append((0..<dates).map { Double.random(in: 0..<1, using: &random) < rate($0) })
    }

    /// A habit that comes in runs of done and of missed dates.
    ///
    /// - Parameter length: of a run on average.
    mutating func addRuns(_ rate: Double, length: Double) {
        var isDone = Double.random(in: 0..<1, using: &random) < rate
        habits.append(
            (0..<dates).map { _ in
                let leave = (isDone ? 1 - rate : rate) * 2 / length
                if Double.random(in: 0..<1, using: &random) < leave { isDone.toggle() }
                return isDone
            }
        )
    }

    /// A habit that follows another: its rates when the other is done and when it is not.
    mutating func add(after other: Int, done: Double, missed: Double) {
        let dates = habits[other]
        habits.append(dates.map { Double.random(in: 0..<1, using: &random) < ($0 ? done : missed) })
    }

    /// Nothing is done on these dates.
    mutating func rest(_ dates: Range<Int>) {
        for habit in habits.indices { for date in dates { habits[habit][date] = false } }
    }

    mutating func uniform(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &random) }

    /// Due on every date before today.
    var marks: [HabitMarks] {
        let first = today.advanced(by: -dates)
        return habits.compactMap { done in
            HabitMarks(from: first, codes: done.map { ($0 ? HabitMark(.done, .done) : HabitMark(.missed, .missed)).code })
        }
    }

    var pairs: [HabitPair] { HabitPairs(marks, until: today).all() }
}
