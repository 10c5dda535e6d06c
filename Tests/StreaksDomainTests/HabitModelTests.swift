import Foundation
import HabitModel
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
        let count = TestDepth.pick(quick: 8, full: 100)
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
            if let expected = step.expect {
                problems += HabitComparison(state, days: habit.days, runs: habit.runs).differences(expected)
            }
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
