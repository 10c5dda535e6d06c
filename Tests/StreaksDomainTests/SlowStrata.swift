import Kernel
import StreaksDomain

/// What `HabitBits` sums, date by date: strata are the dates of one weekday in four weeks from the first date on.
struct SlowStrata {
    var excess = 0.0
    var variance = 0.0
    var unbiased = 0.0
    /// Dates, the first done, the second done, together.
    var counts = [0, 0, 0, 0]
    /// Of the first habit.
    var autocorrelations: [Double] = []

    init(_ marks: [HabitMarks], _ dates: ClosedRange<CalendarDate>, _ away: [Bool]) {
        func could(_ habit: Int, _ date: CalendarDate) -> Bool {
            !away[dates.lowerBound.distance(to: date)] && marks[habit][date]?.couldBeDone ?? false
        }
        func done(_ habit: Int, _ date: CalendarDate) -> Bool { could(habit, date) && marks[habit][date]?.isDone ?? false }
        var means: [CalendarDate: Double] = [:]
        let strata = Dictionary(grouping: dates) { date in
            let offset = dates.lowerBound.distance(to: date)
            return offset / 28 * 7 + offset % 7
        }
        for stratum in strata.values {
            let own = stratum.filter { could(0, $0) }
            for date in own { means[date] = Double(own.count { done(0, $0) }) / Double(own.count) }
            let both = stratum.filter { could(0, $0) && could(1, $0) }
            let (n, a) = (Double(both.count), Double(both.count { done(0, $0) }))
            let (b, c) = (Double(both.count { done(1, $0) }), Double(both.count { done(0, $0) && done(1, $0) }))
            counts = zip(counts, [n, a, b, c]).map { $0 + Int($1) }
            guard n > 1, a > 0, a < n, b > 0, b < n else { continue }
            excess += c - a * b / n
            unbiased += (c - a * b / n) * n / (n - 1)
            variance += a * b * (n - a) * (n - b) / (n * n * (n - 1))
        }
        let rest = dates.map { date in means[date].map { (done(0, date) ? 1 : 0) - $0 } ?? 0 }
        let total = rest.reduce(0) { $0 + $1 * $1 }
        autocorrelations = (1...13).filter { $0 != 7 }.map { lag in
            guard total > 0, lag < rest.count else { return 0 }
            return (0..<(rest.count - lag)).reduce(0) { $0 + rest[$1] * rest[$1 + lag] } / total
        }
    }
}
