import Kernel
import StreaksDomain
import TestSupport
import Testing

/// Random lives in which zones, plans and memberships come hours after they were made, with dates settled before and between: what they decide is
/// what it had been in time (SD-5).
@Suite struct LateOrderTests {
    @Test(arguments: TestDepth.seeds(quick: 2, full: 40)) func `Mutual streaks: zones that come late`(block: UInt64) {
        for seed in 0..<25 as Range<UInt64> { check(LateLife(seed: 90_000 + block * 25 + seed, .mutual, users: 2)) }
    }

    @Test(arguments: TestDepth.seeds(quick: 1, full: 20)) func `Check-in and typed streaks: zones and plans that come late`(
        block: UInt64
    ) {
        for seed in 0..<20 as Range<UInt64> {
            check(LateLife(seed: 100_000 + block * 20 + seed, .typed, users: 1))
            check(LateLife(seed: 110_000 + block * 20 + seed, .checkIn, users: 1))
        }
    }

    @Test(arguments: TestDepth.seeds(quick: 1, full: 20)) func `Teams: zones and memberships that come late`(block: UInt64) {
        for seed in 0..<20 as Range<UInt64> { check(LateLife(seed: 120_000 + block * 20 + seed, .team, users: 4)) }
    }

    @Test(arguments: TestDepth.seeds(quick: 2, full: 40)) func `No token, repair or time machine is spent for nothing`(
        block: UInt64
    ) {
        for seed in 0..<25 as Range<UInt64> {
            let policies: [(StreakPolicy, Int)] = [(.mutual, 2), (.mutual, 2), (.typed, 1), (.checkIn, 1)]
            let (policy, users) = policies[Int(seed % 4)]
            check(LateLife(seed: 130_000 + block * 25 + seed, policy, users: users, recovers: true))
        }
    }

    private func check(_ life: LateLife) {
        var life = life
        life.live(days: life.recovers ? 20 : 40)
        if let problem = life.problem { Issue.record("\(problem)\n\(life.trace.joined(separator: "\n"))") }
    }
}

/// A life on two ledgers: one receives everything when it is made, the other late. While something is on its way no one contributes.
struct LateLife {
    let policy: StreakPolicy
    let recovers: Bool
    let seed: UInt64
    var random: Seeded
    var now: Instant
    var punctual: StreakLedger
    var late: StreakLedger
    var settledAt: Instant
    var emitted: [String] = []
    var trace: [String] = []
    var problem: String?
    /// Something differs that may: a date that could not be contributed for is excused.
    var isExcused = false
    private var operations: UInt64 = 0

    init(seed: UInt64, _ policy: StreakPolicy, users count: Int, recovers: Bool = false) {
        (self.policy, self.recovers, self.seed) = (policy, recovers, seed)
        var random = Seeded(seed)
        now = Instant(seconds: 1_767_225_600 + Int64.random(in: 0..<(300 * 86_400), using: &random))
        let participants = (1...count).map { number in
            StreakLedger.Participant(UserID(high: 8, low: UInt64(number)), zone: random.pick(RandomHistory.zones))
        }
        let grants = policy.freezes == nil ? [] : [StreakLedger.FreezeGrant(at: now, count: 2)]
        punctual = StreakLedger(start: now, participants: participants, freezeGrants: grants)
        late = punctual
        settledAt = now
        self.random = random
    }

    mutating func live(days: Int) {
        let end = now + .days(Int64(days))
        while now < end, problem == nil, !isExcused {
            now = now + .minutes(random.pick([20, 60, 120, 300]))
            for participant in punctual.participants where participant.isPresent && random.chance(70) {
                let today = participant.zones.date(at: now)
                guard !punctual.hasContributed(participant.user, on: today, known: now) else { continue }
                both(.contribute(participant.user, receivedAt: now, capturedAt: nil))
            }
            if random.chance(20) { settle() }
            if random.chance(8) { deliverLate() }
            if !recovers { compare() }
        }
        if problem == nil, recovers { checkCovers() }
    }

    private mutating func both(_ command: StreakCommand) {
        inTime(command)
        act(command)
    }

    /// On the ledger that receives everything when it is made.
    private mutating func inTime(_ command: StreakCommand) {
        if let change = try? punctual.applying(command, policy, at: now) { punctual = change.ledger }
    }

    /// On the one that receives some things late.
    private mutating func act(_ command: StreakCommand) {
        trace.append("\(now) \(command)")
        do throws(ServiceError) {
            let change = try late.applying(command, policy, at: now, settledAt: settledAt)
            late = change.ledger
            emitted += change.effects.map(\.key)
            settledAt = now
        } catch {
            trace[trace.count - 1] += " → \(error.reason)"
        }
    }

    private mutating func settle() { act(.settle) }

    /// A zone, a plan or a membership that is received some hours after it was made.
    private mutating func deliverLate() {
        let made = now
        let fact = fact()
        inTime(command(fact, since: nil))
        trace.append("\(now) made: \(fact)")
        let hours = random.pick([1, 3, 5])
        for _ in 0..<hours {
            now = now + .hours(1)
            if random.chance(60) { settle() }
            if recovers, random.chance(70) { recover() }
        }
        act(command(fact, since: made))
    }

    private enum Fact {
        case zone(UserID, Zone)
        case plan(UserID, Bool)
        case join(UserID, Zone)
        case leave(UserID)
    }

    private mutating func fact() -> Fact {
        let user = random.pick(punctual.participants.map(\.user))
        if policy.asksForPlans, random.chance(50) { return .plan(user, random.chance(60)) }
        if policy.quorum != .everyone, random.chance(60) {
            let other = UserID(high: 8, low: UInt64.random(in: 1...8, using: &random))
            return random.chance(50) ? .join(other, random.pick(RandomHistory.zones)) : .leave(user)
        }
        return .zone(user, random.pick(RandomHistory.zones))
    }

    private func command(_ fact: Fact, since: Instant?) -> StreakCommand {
        switch fact {
        case .zone(let user, let zone): .changeZone(user, zone, since: since)
        case .plan(let user, let isPremium): .changePlan(user, isPremium: isPremium, since: since)
        case .join(let user, let zone): .join(user, ZoneHistory(zone), at: since)
        case .leave(let user): .leave(user, at: since)
        }
    }

    private mutating func recover() {
        operations += 1
        let id = OperationID(high: 6, low: operations)
        let user = random.pick(late.participants.map(\.user))
        let broken = fold(late, policy, at: now).lastBreak?.date
        if policy.recovery != nil { return act(.recover(user)) }
        if let broken, random.chance(50) { return act(.fill(broken, by: user, id: id)) }
        act(.repair(user, id: id))
    }

    private mutating func compare() {
        let (one, other) = (fold(late, policy, at: now), fold(punctual, policy, at: now))
        for (date, mark) in other.days.sorted(by: { $0.key < $1.key }) where one.days[date] != mark {
            // The time in which it wrongly counted as broken could not be used.
            guard mark == .missed, one.days[date] == .neutral, policy.onBreak == .stop else {
                problem =
                    "seed \(seed): at \(now) \(date) is \(mark) in time and \(one.days[date].map { "\($0)" } ?? "nothing") late"
                return
            }
            isExcused = true
            return
        }
        if (one.count, one.status, one.runStart, one.brokenAt) != (other.count, other.status, other.runStart, other.brokenAt) {
            problem = "seed \(seed): at \(now) \(other.count) \(other.status) in time and \(one.count) \(one.status) late"
        } else if (one.deadlineAt, one.freezesLeft, one.freeDatesLeft) != (
            other.deadlineAt, other.freezesLeft, other.freeDatesLeft
        ) {
            problem = "seed \(seed): at \(now) another deadline or other freezes"
        } else if fold(late.compacted(policy, at: now), policy, at: now).count != one.count {
            problem = "seed \(seed): at \(now) another count from the checkpoint"
        }
    }

    /// What was used and did not come back keeps a date that would be missed without it.
    private mutating func checkCovers() {
        for recovery in late.recoveries where recovery.returnedAt == nil && recovery.kind != .cover {
            var other = late
            other.recoveries.removeAll { $0.at == recovery.at }
            let days = fold(other, policy, at: now).days
            // A streak that stops judges nothing behind the break.
            let isNeeded = days.contains { date, mark in
                recovery.from <= date && date <= recovery.through && (mark == .missed || mark == .open)
            }
            let isBroken = fold(other, policy, at: now).missedDate.map { $0 <= recovery.through } ?? false
            if !isNeeded, !isBroken { problem = "seed \(seed): \(recovery) keeps nothing" }
        }
    }
}
