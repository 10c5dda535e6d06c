import Kernel

/// Dates on which a person did almost nothing of what they usually do: a holiday or an illness without a pause. All habits rest on them, which
/// says nothing about any two.
///
/// A date is quiet when at most a quarter of what is usual is done, with each habit's usual rate that of its quarter. Three quiet dates or
/// more in a row (dates without anything due are passed over) are away dates, when chance makes them in less than one of a thousand cases:
/// Σ (E − A + A ln(A/E)) ≥ ln 1000, with E expected and A done (Chernoff, of a Poisson number).
enum AwayDates {
    static let fewestDates = 3
    /// ln 1000.
    static let surprise = 6.907_755_278_982_137
    /// Dates that a usual rate is taken from.
    static let quarter = 91

    /// For each date of a range whether the person was away.
    static func flags(_ habits: [HabitMarks], _ dates: ClosedRange<CalendarDate>) -> [Bool] {
        let days = sums(habits, dates)
        var away = [Bool](repeating: false, count: dates.count)
        var run: [Int] = []
        var total = 0.0
        for (index, day) in days.enumerated() where day.expected > 0 {
            if Double(day.done) <= day.expected / 4 {
                run.append(index)
                total += day.surprise
                continue
            }
            if run.count >= fewestDates, total >= surprise { for quiet in run { away[quiet] = true } }
            (run, total) = ([], 0)
        }
        if run.count >= fewestDates, total >= surprise { for quiet in run { away[quiet] = true } }
        return away
    }

    private struct Day {
        var done = 0
        var expected = 0.0

        var surprise: Double {
            done == 0 ? expected : expected - Double(done) + Double(done) * naturalLogarithm(Double(done) / expected)
        }
    }

    private static func sums(_ habits: [HabitMarks], _ dates: ClosedRange<CalendarDate>) -> [Day] {
        let table = MarkTable.all
        var days = [Day](repeating: Day(), count: dates.count)
        for habit in habits {
            let shift = dates.lowerBound.distance(to: habit.first)
            let indices = habit.indices(dates)
            var from = indices.lowerBound
            while from < indices.upperBound {
                let part = from..<min(indices.upperBound, ((from + shift) / quarter + 1) * quarter - shift)
                var (could, done) = (0, 0)
                for index in part where table.couldBeDone[Int(habit.codes[index])] {
                    could += 1
                    if table.isDone[Int(habit.codes[index])] { done += 1 }
                }
                let rate = could > 0 ? Double(done) / Double(could) : 0
                for index in part where table.couldBeDone[Int(habit.codes[index])] {
                    days[index + shift].expected += rate
                    if table.isDone[Int(habit.codes[index])] { days[index + shift].done += 1 }
                }
                from = part.upperBound
            }
        }
        return days
    }
}
