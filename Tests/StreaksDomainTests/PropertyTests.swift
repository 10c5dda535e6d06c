import Kernel
import StreaksDomain
import Testing

/// 1,800 random lives of 60 dates each: 108,000 dates a run.
@Suite struct PropertyTests {
    private func live(_ seed: UInt64, _ policy: StreakPolicy, users: Int, days: Int) {
        var history = RandomHistory(seed: seed, policy: policy, users: users, isThorough: false)
        history.live(days: days)
        guard let violation = history.violation else { return }
        // The same life again, checked after every step: what is printed ends where it first goes wrong.
        var thorough = RandomHistory(seed: seed, policy: policy, users: users, isThorough: true)
        thorough.live(days: days)
        let steps = (thorough.violation == nil ? history : thorough).trace.joined(separator: "\n")
        Issue.record("seed \(seed), \(users) users: \(thorough.violation ?? violation)\n\(steps)")
    }

    @Test("Mutual: replay is incremental, effects once, counts and tokens in bounds", arguments: 0..<10)
    func mutual(block: Int) {
        for seed in 0..<100 { live(UInt64(block * 100 + seed), .mutual, users: seed % 10 == 0 ? 3 : 2, days: 60) }
    }

    @Test("Check-in: replay is incremental, effects once, freezes conserved", arguments: 0..<4)
    func checkIn(block: Int) {
        for seed in 0..<100 { live(UInt64(10_000 + block * 100 + seed), .checkIn(freezeEvery: nil), users: 1, days: 60) }
    }

    @Test("Whoever posts on every local date keeps the streak, also while travelling", arguments: 0..<4)
    func diligent(block: Int) {
        for seed in 0..<100 {
            var life = DiligentLife(seed: UInt64(20_000 + block * 100 + seed))
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
