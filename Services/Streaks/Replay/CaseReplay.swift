public import FoundationEssentials
internal import Kernel
internal import StreaksDomain

/// Plays a file of cases against the engine and reports where they disagree.
///
/// The format is that of `streak-cases.json`: each case is a ledger in the making, step by step, with checks in between. A step or an
/// expectation that is not understood fails its case.
public struct CaseReplay: Sendable {
    /// What became of one case.
    public struct Result: Sendable {
        public let name: String
        public let rule: String
        /// One line each; none when the case passed.
        public let disagreements: [String]
    }

    /// Whether to fold from a checkpoint that is renewed after every step too; the outcome must be the same.
    public let isIncremental: Bool

    public init(isIncremental: Bool = false) { self.isIncremental = isIncremental }

    /// Plays the file at `path`.
    ///
    /// - Returns: the disagreements and a summary line `N passed, M failed`; exit code 0 when all passed, 1 when one did not, 2 when
    ///   the file could not be read.
    public func run(file path: String) async -> (output: String, exitCode: Int32) {
        let results: [Result]
        do {
            results = try await play(Data(contentsOf: URL(filePath: path)))
        } catch let problem as CaseProblem {
            return ("\(path): \(problem.text)\n", 2)
        } catch {
            return ("\(path): cannot be read as a case file: \(error)\n", 2)
        }
        var output = ""
        for result in results where !result.disagreements.isEmpty {
            output += "FAILED \(result.name)" + (result.rule.isEmpty ? "" : " (\(result.rule))") + "\n"
            for line in result.disagreements { output += "  \(line)\n" }
        }
        let failed = results.count { !$0.disagreements.isEmpty }
        output += "\(results.count - failed) passed, \(failed) failed\n"
        return (output, failed == 0 ? 0 : 1)
    }

    /// Plays the cases of a file's bytes on ledgers in memory.
    ///
    /// - Throws: when the bytes are no case file.
    public func play(_ data: Data) async throws -> [Result] {
        try await play(data) { [isIncremental] in LedgerStreak($0, isIncremental: isIncremental) }
    }

    /// Plays the cases of a file's bytes.
    ///
    /// - Parameter begin: begins the streak of a case; nil leaves the case out.
    /// - Throws: when the bytes are no case file, and what `begin` and the streaks throw that is no refusal.
    public func play(_ data: Data, on begin: (CaseStart) async throws -> (any CaseStreak)?) async throws -> [Result] {
        let file = try object(try JSONDecoder().decode(JSONValue.self, from: data), "file")
        guard case .array(let cases)? = file["cases"] else { throw CaseProblem(text: "cases is missing") }
        var results: [Result] = []
        for (index, json) in cases.enumerated() {
            do {
                let streakCase = try StreakCase(json)
                guard let streak = try await begin(CaseStart(streakCase)) else { continue }
                let disagreements = try await play(streakCase, on: streak)
                results.append(Result(name: streakCase.name, rule: streakCase.rule, disagreements: disagreements))
            } catch let problem as CaseProblem {
                var name = "case \(index + 1)"
                if case .object(let fields) = json, case .string(let text)? = fields["name"] { name = text }
                results.append(Result(name: name, rule: "", disagreements: [problem.text]))
            }
        }
        return results
    }

    private func play(_ streakCase: StreakCase, on streak: any CaseStreak) async throws -> [String] {
        var disagreements: [String] = []
        for (index, step) in streakCase.steps.enumerated() {
            let place = "step \(index + 1) at \(step.at)"
            if let command = step.command {
                do {
                    let credited = try await streak.apply(command, at: step.at)
                    if let reason = step.error {
                        disagreements.append("\(place): expected the refusal \(reason), but it was accepted")
                    }
                    if let date = step.creditedTo, credited != date {
                        let actual = credited?.description ?? "nothing"
                        disagreements.append("\(place): expected credited_to \(date), got \(actual)")
                    }
                } catch let refusal as ServiceError {
                    if refusal.reason != step.error {
                        let expected = step.error.map { "the refusal \($0)" } ?? "no refusal"
                        disagreements.append("\(place): expected \(expected), got \(refusal.reason)")
                    }
                }
            }
            let state = try await streak.state(at: step.at)
            for (key, value) in step.expectations {
                if let line = disagreement(key, value, state, streakCase) { disagreements.append("\(place): \(line)") }
            }
            disagreements += try await streak.problems(at: step.at).map { "\(place): \($0)" }
        }
        return disagreements
    }

    private func disagreement(
        _ key: String,
        _ expectation: StreakCase.Expectation,
        _ state: StreakState,
        _ streakCase: StreakCase
    ) -> String? {
        switch expectation {
        case .instant(let expected):
            let actual = key == "broken_at" ? state.brokenAt : key == "next_due" ? state.nextDue : state.deadlineAt
            guard actual != expected else { return nil }
            return "expected \(key) \(expected?.description ?? "null"), got \(actual?.description ?? "null")"
        case .day(let date, let expected):
            let actual = "\(state.mark(on: date))"
            return actual == expected ? nil : "expected days[\(date)] \(expected), got \(actual)"
        case .value(let expected):
            let actual = value(key, state, streakCase)
            return actual == expected ? nil : "expected \(key) \(expected.text), got \(actual.text)"
        }
    }

    private func value(_ key: String, _ state: StreakState, _ streakCase: StreakCase) -> JSONValue {
        switch key {
        case "status": .string("\(state.status)")
        case "count": .integer(state.count)
        case "longest": .integer(state.longest)
        case "at_risk": .bool(state.isAtRisk)
        case "freezes": .integer(state.freezesLeft)
        case "freezes_held": .integer(state.freezesHeld)
        case "tokens_returned": .integer(state.tokensReturned)
        case "covers_returned":
            .integer(state.log.count { if case .coverReturned = $0 { true } else { false } })
        case "protections": .integer(state.protections.count)
        case "grace_date": state.graceDate.map { .string($0.description) } ?? .null
        case "lost": state.lastBreak.map { .integer($0.count) } ?? .null
        case "broken_by": state.brokenBy.flatMap { streakCase.names[$0] }.map(JSONValue.string) ?? .null
        case "last_completed_date": state.lastCompletedDate.map { .string($0.description) } ?? .null
        default: .null
        }
    }
}
