import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Random lives of 60 dates each: 500 in a quick run, 3,000 in a full one.
@Suite struct PropertyTests {
    /// Lives and checks. - Returns: what is wrong: the seed, and the shortest beginning of the history that fails.
    static func problem(
        _ seed: UInt64,
        _ policy: StreakPolicy,
        users: Int,
        days: Int,
        rule: @escaping @Sendable (StreakState) -> String? = { _ in nil }
    ) -> String? {
        var history = RandomHistory(seed: seed, policy: policy, users: users, isThorough: false)
        history.rule = rule
        history.live(days: days)
        guard let violation = history.violation else { return nil }
        // The same life again, checked after every step: it ends where it first fails.
        var thorough = RandomHistory(seed: seed, policy: policy, users: users, isThorough: true)
        thorough.rule = rule
        thorough.live(days: days)
        let steps = (thorough.violation == nil ? history : thorough).trace
        return "seed \(seed), \(users) users, after \(steps.count) steps: \(thorough.violation ?? violation)\n"
            + steps.joined(separator: "\n")
    }

    private func live(_ seed: UInt64, _ policy: StreakPolicy, users: Int, days: Int) {
        if let problem = Self.problem(seed, policy, users: users, days: days) { Issue.record("\(problem)") }
    }

    @Test(arguments: 1...20) func `A history that fails is reported with its seed, up to the step that fails and no further`(
        seed: UInt64
    ) throws {
        // A rule that is not ours and that every diligent pair breaks.
        let rule: @Sendable (StreakState) -> String? = { $0.count > 5 ? "more than five" : nil }
        guard let problem = Self.problem(seed, .mutual, users: 2, days: 60, rule: rule) else { return }
        let lines = problem.split(separator: "\n")
        #expect(lines[0].hasPrefix("seed \(seed), 2 users, after \(lines.count - 1) steps: more than five"))
        // The history is the same when it is made again, and a step less does not fail yet.
        var whole = RandomHistory(seed: seed, policy: .mutual, users: 2, isThorough: false)
        whole.live(days: 60)
        #expect(whole.trace.prefix(lines.count - 1).elementsEqual(lines.dropFirst().map(String.init)))
        var short = StreakLedger(start: whole.first.start, participants: whole.first.participants)
        for (index, step) in whole.commands.prefix(lines.count - 1).enumerated() {
            guard let change = try? short.applying(step.command, .mutual, at: step.at) else { continue }
            short = change.ledger
            #expect((change.state.count > 5) == (index == lines.count - 2))
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 3, full: 20))
    func `Mutual: replay is incremental, effects once, counts and tokens in bounds`(block: UInt64) {
        for seed in 0..<100 as Range<UInt64> { live(block * 100 + seed, .mutual, users: seed % 10 == 0 ? 3 : 2, days: 60) }
    }

    @Test(arguments: TestDepth.seeds(quick: 1, full: 5)) func `Check-in: replay is incremental, effects once, freezes conserved`(
        block: UInt64
    ) {
        for seed in 0..<100 as Range<UInt64> { live(10_000 + block * 100 + seed, .checkIn, users: 1, days: 60) }
    }

    @Test(arguments: TestDepth.seeds(quick: 1, full: 5)) func `Typed: replay is incremental, effects once`(block: UInt64) {
        for seed in 0..<100 as Range<UInt64> { live(30_000 + block * 100 + seed, .typed, users: 1, days: 60) }
    }

    @Test(arguments: TestDepth.seeds(quick: 1, full: 5)) func `Teams: replay is incremental, also when members come and go`(
        block: UInt64
    ) {
        for seed in 0..<60 as Range<UInt64> {
            live(60_000 + block * 100 + seed, .team, users: [1, 2, 3, 5][Int(seed % 4)], days: 60)
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 1, full: 5))
    func `A user who posts on every local date keeps the streak, also while travelling`(block: UInt64) {
        for seed in 0..<100 as Range<UInt64> {
            var life = DiligentLife(seed: 20_000 + block * 100 + seed)
            life.live(days: 60)
            if let problem = life.problem { Issue.record("seed \(20_000 + block * 100 + seed): \(problem)") }
        }
    }
}

/// Two friends who post on every date their clocks show for at least 12 h, at whatever hour, travelling in between.
struct DiligentLife {
    var random: Seeded
    var now: Instant
    var ledger: StreakLedger
    var problem: String?
    var hoursShown: [UserID: [CalendarDate: Int]] = [:]

    init(seed: UInt64) {
        var random = Seeded(seed)
        now = Instant(seconds: 1_767_225_600 + Int64.random(in: 0..<(300 * 86_400), using: &random))
        let users = [UserID(high: 9, low: 1), UserID(high: 9, low: 2)]
        ledger = StreakLedger(
            start: now,
            participants: users.map { StreakLedger.Participant($0, zone: random.pick(RandomHistory.zones)) }
        )
        self.random = random
    }

    mutating func live(days: Int) {
        for _ in 0..<(days * 24) where problem == nil {
            now = now + .hours(1)
            for participant in ledger.participants {
                let date = participant.zones.date(at: now)
                hoursShown[participant.user, default: [:]][date, default: 0] += 1
                guard !ledger.hasContributed(participant.user, on: date, known: now) else {
                    if random.chance(1) { act(.changeZone(participant.user, random.pick(RandomHistory.zones))) }
                    continue
                }
                let isEnding = participant.zones.end(of: date) - now <= .hours(1)
                // A date hardly seen so far may be left by plane without a snap.
                if hoursShown[participant.user]?[date] ?? 0 <= 9, random.chance(1) {
                    act(.changeZone(participant.user, random.pick(RandomHistory.zones)))
                } else if isEnding || random.chance(8) {
                    act(.contribute(participant.user, receivedAt: now, capturedAt: nil))
                }
            }
        }
        let state = fold(ledger, .mutual, at: now)
        if state.count < days / 2, problem == nil { problem = "only \(state.count) dates counted in \(days)" }
    }

    private mutating func act(_ command: StreakCommand) {
        do throws(ServiceError) {
            let change = try ledger.applying(command, .mutual, at: now)
            if change.state.status != .active { problem = "broken at \(now) by \(command): \(change.state)" }
            ledger = change.ledger.compacted(.mutual, at: now)
        } catch {
            problem = "\(command) at \(now): \(error.reason)"
        }
    }
}
