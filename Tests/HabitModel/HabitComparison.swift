package import Kernel
package import StreaksDomain

/// What a life came to beside what the model expects.
package struct HabitComparison {
    let state: StreakState
    let days: [CalendarDate: HabitDay]
    let runs: [HabitRun]

    /// - Parameters:
    ///   - days: the stored row of each date.
    ///   - runs: the stored runs, in time order.
    package init(_ state: StreakState, days: [CalendarDate: HabitDay], runs: [HabitRun]) {
        (self.state, self.days, self.runs) = (state, days, runs)
    }

    package func differences(_ expected: HabitCase.Expectation) -> [String] {
        guard let habit = state.habit else { return ["no habit"] }
        var found: [String] = []
        func compare<Value: Equatable>(_ name: String, _ value: Value, _ wanted: Value) {
            if value != wanted { found.append("\(name) \(value), not \(wanted)") }
        }
        compare("count", state.count, expected.count)
        compare("unit", "\(habit.unit)", expected.unit)
        compare("longest", [habit.longestDates, habit.longestWeeks], expected.longest)
        compare("start", habit.startsOn, day(expected.start))
        compare("risk", state.atRiskFrom, expected.risk.map(moment))
        compare("runs", runs.map(Self.row), expected.runs.map { $0.map { $0.string ?? "\($0.int.map { "\($0)" } ?? "–")" } })
        // A week that is not over is no row of its last date yet.
        compare("outcomes", outcomes().filter { $0.value != "open" }, expected.outcomes.filter { $0.value != "open" })
        found += dayDifferences(expected)
        found += figureDifferences(expected, habit)
        return found
    }

    private static func row(_ run: HabitRun) -> [String] {
        let end: [String] =
            switch run.end {
            case .missed(let date): ["missed", "\(date)"]
            case .scheduleChanged(let date): ["schedule_changed", "\(date)"]
            case nil: ["–", "–"]
            }
        return ["\(run.from)", "\(run.through)", "\(run.count)", "\(run.unit)"] + end
    }

    private func outcomes() -> [String: String] {
        var found: [String: String] = [:]
        for (date, row) in days { found["\(date)"] = row.outcome.map { "\($0)" } }
        return found
    }

    private func dayDifferences(_ expected: HabitCase.Expectation) -> [String] {
        expected.days.compactMap { row in
            guard let date = row[0].string.map(day), let known = days[date] else { return "no day \(row)" }
            let value: [HabitCase.JSON] = [
                row[0], .text(known.status.name), .number(Double(known.value.thousandths)), .bool(known.brokeRun),
            ]
            return value == row ? nil : "day \(value), not \(row)"
        }
    }

    private func figureDifferences(_ expected: HabitCase.Expectation, _ habit: HabitState) -> [String] {
        var found: [String] = []
        let days = days.map { (date: $0.key, day: $0.value) }
        let names: [(HabitWindow, String)] = [(.week, "week"), (.month, "month"), (.year, "year"), (.allTime, "all")]
        for (window, name) in names {
            let figures = HabitStatistics(days, window, until: habit.today)
            guard let wanted = expected.windows[name] else { return ["no window \(name)"] }
            let trend = wanted[2].double.map { Int($0.rounded()) }
            // A half may be rounded either way by another order of the same additions.
            let isHalf = wanted[2].double.map { abs(abs($0 - $0.rounded(.down)) - 0.5) < 1e-9 } ?? false
            let rate = HabitRate(done: wanted[0].int ?? -1, counted: wanted[1].int ?? -1)
            if figures.rate != rate || figures.trend != trend && !isHalf {
                found.append("\(name) \(figures.rate) \(figures.trend as Any), not \(wanted)")
            }
        }
        let consistency = HabitConsistency(days, until: habit.today, since: habit.startsOn)
        let grade = consistency.map { [HabitCase.JSON.number(Double($0.score)), .text($0.grade.rawValue)] }
        if grade != expected.grade { found.append("grade \(grade as Any), not \(expected.grade as Any)") }
        let week = habit.week.map { week -> [HabitCase.JSON] in
            let numbers = [week.done, week.excused, week.needed, week.left].map { HabitCase.JSON.number(Double($0)) }
            return [.text("\(week.dates.lowerBound)"), .text("\(week.dates.upperBound)")] + numbers + [.bool(week.isCut)]
        }
        if week != expected.week { found.append("week \(week as Any), not \(expected.week as Any)") }
        return found
    }
}
