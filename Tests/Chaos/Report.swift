import Foundation

/// What a run says at its end.
struct Report: Sendable {
    let seed: Int
    let victims: [Victim]
    let people: Int
    let kills: [Kill]
    let tally: Crowd.Tally
    let outcome: Chaos.Outcome
    let took: Duration

    var text: String {
        var lines = [table]
        if !outcome.violations.isEmpty {
            lines += outcome.violations.prefix(40).map { "VIOLATION, seed \(seed): \($0)" }
            lines += kills.map(\.description)
        }
        let recovered = kills.filter { $0.recovery != nil }.max { ($0.recovery ?? .zero) < ($1.recovery ?? .zero) }
        let slowest = recovered.map { "\($0.recovery?.rounded ?? "") (\($0.victim.rawValue))" } ?? "–"
        lines.append(
            """
            \(kills.count) kills in \(outcome.rounds) dates of \(people) people, seed \(seed): \(tally.acknowledged) snaps acknowledged \
            (\(tally.twins) sent on two connections at once), \(tally.retries) retries; ready again after at most \(slowest), an upload \
            answered after at most \(tally.longest.rounded); \(outcome.leftovers.uploads) uploads and \
            \(outcome.leftovers.operations) operations collected; \(took.rounded): \(outcome.violations.count) violations
            """
        )
        return lines.joined(separator: "\n") + "\n"
    }

    /// Kills by victim and step.
    private var table: String {
        let columns = Step.allCases.map(\.rawValue) + ["all"]
        func row(_ name: String, _ cells: [String]) -> String {
            name.padding(toLength: 10, withPad: " ", startingAt: 0)
                + cells.map { String(repeating: " ", count: max(1, 10 - $0.count)) + $0 }.joined()
        }
        let rows = victims.map { victim in
            let own = kills.filter { $0.victim == victim }
            return row(victim.rawValue, Step.allCases.map { step in "\(own.count { $0.step == step })" } + ["\(own.count)"])
        }
        return ([row("kills", columns)] + rows).joined(separator: "\n")
    }
}
