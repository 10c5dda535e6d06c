import Foundation
import Kernel
import Processes
import StreaksDomain
import TestSupport
import Testing

/// The engine against the slow model of habits in Python, which was written from HA-8 … HA-16 and not from the engine.
@Suite struct HabitModelTests {
    static let model = ModelTests.model.deletingLastPathComponent().appendingPathComponent("habit_model.py")

    @Test(arguments: TestDepth.seeds(quick: 2, full: 20))
    func `Random lives go as the model says, from the start and from checkpoints`(seed: UInt64) async throws {
        let count = TestDepth.pick(quick: 15, full: 100)
        let result = try await run("python3", [Self.model.path, "fill", "\(seed)", "\(count)"], within: .seconds(600))
        try #require(result.status == 0, "\(result.text) \(result.errors)")
        let file = try JSONDecoder().decode(HabitCases.self, from: Data(result.output))
        #expect(file.cases.count == count)
        var reloads = 0
        for isCompacted in [false, true] {
            for life in file.cases { reloads += try play(life, isCompacted: isCompacted) }
        }
        // Otherwise nothing reached behind a checkpoint.
        #expect(reloads > 0)
    }

    private func play(_ life: HabitCase, isCompacted: Bool) throws -> Int {
        let zone = try #require(Zone(life.zone))
        var habit = HabitLife(zone, from: moment(life.at), life.version.starting, isCompacted: isCompacted)
        for (index, step) in life.steps.enumerated() {
            let place = "\(life.name)\(isCompacted ? ", compacted" : ""), step \(index + 1) at \(step.at)"
            var problems: [String] = []
            let now = moment(step.at)
            var reported: [Int]
            var state: StreakState
            do throws(ServiceError) {
                let change = try habit.apply(step.command(HabitLife.user), at: now)
                let refused = Dictionary(uniqueKeysWithValues: change.refused.map { ("\($0)", $1.reason) })
                if refused != step.refused ?? [:] { problems.append("refused \(refused), not \(step.refused ?? [:])") }
                if let error = step.error { problems.append("not refused with \(error)") }
                (reported, state) = (Self.milestones(change), change.state)
            } catch {
                if error.reason != step.error { problems.append("refused with \(error.reason), not \(step.error ?? "–")") }
                let change = try habit.apply(.settle, at: now)
                (reported, state) = (Self.milestones(change), change.state)
            }
            if reported != step.reported { problems.append("reported \(reported), not \(step.reported)") }
            if let expected = step.expect { problems += HabitComparison(habit, state).differences(expected) }
            if !problems.isEmpty {
                Issue.record("\(place): \(problems.joined(separator: "; "))")
                break
            }
        }
        return habit.reloads
    }

    private static func milestones(_ change: StreakChange) -> [Int] {
        change.effects.compactMap { if case .milestone(let count, _, _, _) = $0 { count } else { nil } }
    }
}

/// What a life came to beside what the model expects.
struct HabitComparison {
    let life: HabitLife
    let state: StreakState

    init(_ life: HabitLife, _ state: StreakState) { (self.life, self.state) = (life, state) }

    func differences(_ expected: HabitCase.Expectation) -> [String] {
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
        compare("runs", life.runs.map(Self.row), expected.runs.map { $0.map { $0.string ?? "\($0.int.map { "\($0)" } ?? "–")" } })
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
        for (date, row) in life.days { found["\(date)"] = row.outcome.map { "\($0)" } }
        return found
    }

    private func dayDifferences(_ expected: HabitCase.Expectation) -> [String] {
        expected.days.compactMap { row in
            guard let date = row[0].string.map(day), let known = life.days[date] else { return "no day \(row)" }
            let value: [HabitCase.JSON] = [
                row[0], .text(known.status.name), .number(Double(known.value.thousandths)), .bool(known.brokeRun),
            ]
            return value == row ? nil : "day \(value), not \(row)"
        }
    }

    private func figureDifferences(_ expected: HabitCase.Expectation, _ habit: HabitState) -> [String] {
        var found: [String] = []
        let days = life.days.map { (date: $0.key, day: $0.value) }
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
