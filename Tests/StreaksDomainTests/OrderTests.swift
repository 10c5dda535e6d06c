import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Who settles, when, how often and in which order makes no difference (SD-5): random histories, settled in other ways.
@Suite struct OrderTests {
    private typealias Step = (at: Instant, command: StreakCommand)

    /// The result of one way of settling a history.
    private struct Outcome: Equatable {
        var state: StreakState
        var emitted: [String]
    }

    /// How often the history is settled, and what is done with the ledger in between.
    private struct Manner {
        /// How often it is settled before each step, beside the steps of the history that settle.
        var settlings: ClosedRange<Int> = 0...0
        /// Leaves out the steps of the history that settle: the next command settles what is due.
        var isLate = false
        /// Each step is worked out by two settlers on the same ledger; one of them is stored.
        var isDoubled = false
        /// Moves the checkpoint on now and then.
        var isCompacted = false
        /// Snaps of several users at one instant come in another order.
        var isShuffled = false
        /// Contributions are recorded up to so long after they were received, in their order, as by events that come late. Nothing else
        /// happens meanwhile but settling.
        var delay = Interval.zero
    }

    private func live(_ first: StreakLedger, _ steps: [Step], _ manner: Manner, seed: UInt64, _ policy: StreakPolicy) throws
        -> Outcome
    {
        var random = Seeded(seed)
        // The ledger without its checkpoint is the service's rows: it is there for what reaches behind.
        var (short, whole) = (first, first)
        var settledAt = first.start
        var emitted: [String] = []
        func act(_ command: StreakCommand, at now: Instant) throws {
            let full = try whole.applying(command, policy, at: now, settledAt: settledAt)
            let change = (try? short.applying(command, policy, at: now, settledAt: settledAt)) ?? full
            #expect(Set(change.effects) == Set(full.effects))
            if manner.isDoubled { #expect(try whole.applying(command, policy, at: now, settledAt: settledAt) == full) }
            // Of what two have computed one is stored, and emitted once.
            emitted += change.effects.map(\.key)
            whole = full.ledger
            short = manner.isCompacted && random.chance(30) ? change.ledger.compacted(policy, at: now) : change.ledger
            settledAt = now
            if manner.isDoubled { emitted += try whole.applying(.settle, policy, at: now, settledAt: now).effects.map(\.key) }
        }
        for step in manner.isShuffled ? shuffled(steps, &random) : delayed(steps, manner.delay, &random) {
            for _ in 0..<Int.random(in: manner.settlings, using: &random) {
                let gap = step.at - settledAt
                let instant = settledAt + Interval(microseconds: Int64.random(in: 0...max(0, gap.microseconds), using: &random))
                try act(.settle, at: instant)
            }
            if manner.isLate, step.command == .settle { continue }
            do { try act(step.command, at: step.at) } catch is ServiceError {}
        }
        let end = (steps.last?.at ?? first.start) + .days(10)
        try act(.settle, at: end)
        return Outcome(state: fold(whole, policy, at: end), emitted: emitted.sorted())
    }

    /// Neighbours that are snaps of different users at one instant change places.
    private func shuffled(_ steps: [Step], _ random: inout Seeded) -> [Step] {
        var steps = steps
        for index in steps.indices.dropFirst() where steps[index].at == steps[index - 1].at {
            guard case .contribute(let one, let first, nil) = steps[index - 1].command,
                case .contribute(let other, let second, nil) = steps[index].command, one != other, first == second,
                random.chance(50)
            else { continue }
            steps.swapAt(index - 1, index)
        }
        return steps
    }

    private func delayed(_ steps: [Step], _ longest: Interval, _ random: inout Seeded) -> [Step] {
        guard longest > .zero else { return steps }
        var steps = steps
        var last = Instant(microseconds: 0)
        for (index, step) in steps.enumerated() {
            guard case .contribute = step.command else { continue }
            let earliest = max(step.at, last)
            steps[index].at = earliest
            last = earliest
            guard random.chance(40) else { continue }
            let other = steps[(index + 1)...].first { later in
                switch later.command {
                case .contribute, .settle: false
                default: true
                }
            }
            let end = min(other?.at ?? steps[steps.count - 1].at, step.at + longest) - .seconds(1)
            guard end > earliest else { continue }
            steps[index].at = Instant(microseconds: .random(in: earliest.microseconds...end.microseconds, using: &random))
            last = steps[index].at
        }
        return steps.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }

    private func check(_ seed: UInt64, _ policy: StreakPolicy, users: Int) throws {
        var life = RandomHistory(seed: seed, policy: policy, users: users, isThorough: false)
        life.live(days: 24)
        try #require(life.violation == nil, "seed \(seed)")
        let plain = try live(life.first, life.commands, Manner(), seed: seed, policy)
        // Where freezes extend the count, an outage may lower it and a milestone be reached again: the key makes it once.
        if policy.freezes == nil { #expect(Set(plain.emitted).count == plain.emitted.count, "seed \(seed): emitted twice") }
        for (name, manner) in [
            ("settled by two at once", Manner(isDoubled: true)), ("settled only by who acts", Manner(isLate: true)),
            ("settled all the time", Manner(settlings: 0...3)), ("from checkpoints", Manner(settlings: 0...1, isCompacted: true)),
            ("snaps in another order", Manner(isShuffled: true)),
        ] where policy.grace == nil || !manner.isShuffled {
            // In a grace who comes first counts for the missed date, who comes when it is complete for today.
            let other = try live(life.first, life.commands, manner, seed: seed, policy)
            #expect(other.state == plain.state, "seed \(seed), \(users) users: \(name)")
            #expect(Set(other.emitted) == Set(plain.emitted), "seed \(seed), \(users) users: \(name)")
            if policy.freezes == nil { #expect(other.emitted == plain.emitted, "seed \(seed), \(users) users: \(name)") }
        }
        guard policy == .team else { return }
        // What is emitted may differ: a break, and that it was none.
        for isCompacted in [false, true] {
            let manner = Manner(settlings: 0...2, isCompacted: isCompacted, delay: .hours(14))
            let late = try live(life.first, life.commands, manner, seed: seed, policy)
            #expect(late.state.days == plain.state.days && late.state.count == plain.state.count, "seed \(seed): recorded late")
            #expect(late.state.longest == plain.state.longest && late.state.runStart == plain.state.runStart, "seed \(seed)")
        }
    }

    @Test(arguments: 0..<5) func `Mutual streaks: 720 dates, each lived in six ways`(block: Int) throws {
        for seed in 0..<6 { try check(UInt64(40_000 + block * 6 + seed), .mutual, users: seed % 5 == 0 ? 3 : 2) }
    }

    @Test(arguments: 0..<4) func `Check-in streaks: 288 dates, each lived in six ways`(block: Int) throws {
        for seed in 0..<3 { try check(UInt64(50_000 + block * 3 + seed), .checkIn, users: 1) }
    }

    @Test(arguments: 0..<4) func `Typed and team streaks: 576 dates, each lived in several ways`(block: Int) throws {
        for seed in 0..<3 {
            try check(UInt64(70_000 + block * 3 + seed), .typed, users: 1)
            try check(UInt64(80_000 + block * 3 + seed), .team, users: 2 + seed)
        }
    }
}
