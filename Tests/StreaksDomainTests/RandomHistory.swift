import Kernel
import StreaksDomain
import TestSupport

/// A random life of a streak, lived twice: on a ledger that is compacted as a service would, and on one that keeps everything.
struct RandomHistory {
    static let zones = [
        "UTC", "America/New_York", "Europe/Berlin", "Asia/Tokyo", "Asia/Kolkata", "Pacific/Kiritimati", "Pacific/Pago_Pago",
        "Pacific/Auckland", "Pacific/Honolulu", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo", "Pacific/Chatham",
    ].compactMap { Zone($0) }

    let policy: StreakPolicy
    let users: [UserID]
    var random: Seeded
    /// Its own, so that checking more often does not change the life.
    private var shuffling: Seeded
    var now: Instant
    var short: StreakLedger
    let first: StreakLedger
    var contributions: [StreakLedger.Contribution] = []
    var pauses: [StreakLedger.Pause] = []
    var outages: [StreakLedger.Outage] = []
    var manualFreezes: [StreakLedger.ManualFreeze] = []
    var grants: [StreakLedger.FreezeGrant] = []
    private var operations: UInt64 = 0
    var settledAt: Instant
    /// Everything emitted so far, by key.
    var emitted: [String: StreakEffect] = [:]
    var trace: [String] = []
    /// What was asked for and when, refused or not.
    var commands: [(at: Instant, command: StreakCommand)] = []
    var newest: CalendarDate
    var violation: String?
    /// Compare with a fold from the start after every step, not only now and then.
    let isThorough: Bool
    /// A further rule: what is wrong with a state, if anything.
    var rule: @Sendable (StreakState) -> String? = { _ in nil }

    init(seed: UInt64, policy: StreakPolicy, users count: Int, isThorough: Bool) {
        var random = Seeded(seed)
        shuffling = Seeded(seed ^ 0xABCD)
        self.policy = policy
        self.isThorough = isThorough
        users = (1...count).map { UserID(high: 7, low: UInt64($0)) }
        now = Instant(seconds: 1_767_225_600 + Int64.random(in: 0..<(400 * 86_400), using: &random))
        let pool = [random.pick(Self.zones), random.pick(Self.zones)]
        let participants = users.map { StreakLedger.Participant($0, zone: random.pick(pool)) }
        let granted = policy.freezes == nil ? 0 : Int.random(in: 0...4, using: &random)
        short = StreakLedger(
            start: now,
            participants: participants,
            freezeGrants: granted > 0 ? [StreakLedger.FreezeGrant(at: now, count: granted)] : []
        )
        first = short
        grants = short.freezeGrants
        settledAt = now
        newest = short.firstDate
        self.random = random
    }

    /// Lives for so many dates.
    mutating func live(days: Int) {
        let end = now + .days(Int64(days))
        let diligence = random.pick([60, 85, 97])
        let travels = random.chance(30)
        while now < end, violation == nil {
            now = now + .minutes(random.pick([1, 240, 480, 720, 1_200]))
            newest = max(newest, short.participants.map { $0.zones.date(at: now) }.max() ?? newest)
            for user in short.participants.map(\.user) where random.chance(diligence) {
                let today = short.participant(user)?.zones.date(at: now)
                if let today, !short.hasContributed(user, on: today, known: now) {
                    act(.contribute(user, receivedAt: now, capturedAt: nil))
                }
            }
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<5:
                let late = Interval.minutes(random.pick([-5, 30, 180, 360, 1_500]))
                act(.contribute(random.pick(users), receivedAt: now, capturedAt: now - late))
            case 5..<7: act(.contribute(random.pick(users), receivedAt: now - .hours(random.pick([1, 9, 30])), capturedAt: nil))
            case 7..<12: act(.recover(random.pick(users)))
            case 12..<14 where travels: act(.changeZone(random.pick(users), random.pick(Self.zones)))
            case 14:
                let from = now - .hours(random.pick([1, 10, 40, 100]))
                act(.declareOutage(from: from, until: from + .hours(random.pick([2, 3, 30]))))
            case 15 where policy.longestPause != nil: act(.pause(until: newest.advanced(by: random.pick([1, 4]))))
            case 16 where policy.longestPause != nil: act(.resume)
            case 17 where policy.freezes != nil: act(.freeze(newest.advanced(by: random.pick([0, -1]))))
            case 18..<26 where policy.repair != nil: act(further())
            case 26..<32 where policy.quorum != .everyone: act(member())
            case 50...: act(.settle)
            default: break
            }
        }
        if violation == nil { checkAgainstWhole() }
    }

    /// What only streaks of one have.
    private mutating func further() -> StreakCommand {
        operations += 1
        let id = OperationID(high: 9, low: operations)
        let until = random.chance(30) ? nil : now + .days(random.pick([1, 7]))
        return switch Int.random(in: 0..<6, using: &random) {
        case 0: .grantFreezes(random.pick([1, 1, 5]), id: id)
        case 1: .protect(policy.protections.first ?? .shield, until: until, id: id)
        case 2: .changePlan(users[0], isPremium: random.chance(60), until: until)
        case 3: .repair(users[0], id: id)
        default: .fill(fold(short, policy, at: now).lastBreak?.date ?? newest.advanced(by: -2), by: users[0], id: id)
        }
    }

    /// A user joins or leaves.
    private mutating func member() -> StreakCommand {
        let user = UserID(high: 7, low: UInt64.random(in: 1...8, using: &random))
        return random.chance(60) ? .join(user, ZoneHistory(random.pick(Self.zones))) : .leave(user)
    }

    private mutating func act(_ command: StreakCommand) {
        guard violation == nil else { return }
        trace.append("\(now) \(command)")
        commands.append((now, command))
        do throws(ServiceError) {
            let change: StreakChange
            do throws(ServiceError) {
                change = try short.applying(command, policy, at: now, settledAt: settledAt)
            } catch {
                guard error == .ledgerTooShort else { throw error }
                change = try whole().applying(command, policy, at: now, settledAt: settledAt)
            }
            record(change)
            check(change)
            if case .declareOutage = command { checkOutage(change) }
            short = random.chance(40) ? change.ledger.compacted(policy, at: now) : change.ledger
            // A service stores it and gives it back.
            short.longestShown = change.state.longest
            settledAt = now
        } catch {
            trace[trace.count - 1] += " → \(error.reason)"
        }
        if isThorough, violation == nil { checkAgainstWhole() }
    }

    /// Copies the new entries to the rows that keep everything.
    private mutating func record(_ change: StreakChange) {
        if let date = change.creditedTo, let row = change.ledger.contributions[date]?.last { contributions.append(row) }
        pauses = pauses.filter { old in !change.ledger.pauses.contains { $0.at == old.at } } + change.ledger.pauses
        outages += change.ledger.outages.filter { !outages.contains($0) }
        manualFreezes += change.ledger.manualFreezes.filter { !manualFreezes.contains($0) }
        grants += change.ledger.freezeGrants.filter { !grants.contains($0) }
    }

    /// The ledger that keeps everything, its rows in no order.
    mutating func whole() -> StreakLedger {
        StreakLedger(
            start: short.start,
            participants: short.participants,
            contributions: contributions.shuffled(using: &shuffling),
            recoveries: short.recoveries,
            pauses: pauses,
            outages: outages,
            freezeGrants: grants,
            manualFreezes: manualFreezes,
            protections: short.protections,
            longestShown: short.longestShown
        )
    }

    /// SD-7: an outage that is declared afterwards takes nothing away.
    private mutating func checkOutage(_ change: StreakChange) {
        var before = change.ledger
        before.outages.removeAll { $0.declaredAt == now }
        let count = fold(before, policy, at: now).count
        if change.state.count < count { violation = "an outage took the count from \(count) to \(change.state.count)" }
    }

    private mutating func check(_ change: StreakChange) {
        let state = change.state
        for effect in change.effects {
            let isAgain = emitted.updateValue(effect, forKey: effect.key) != nil
            // Where freezes extend the count, an outage may lower it and a milestone be reached again: the key shows it.
            if isAgain, !isRepeatable(effect) { violation = "emitted twice: \(effect.key)" }
        }
        if state.longest < state.count { violation = "longest \(state.longest) < count \(state.count)" }
        let elapsed = change.ledger.firstDate.distance(to: newest) + 1
        if state.count > elapsed { violation = "count \(state.count) in \(elapsed) dates" }
        if state.longest < change.before.longest { violation = "longest fell" }
        if let problem = rule(state) { violation = problem }
        let used = emitted.keys.count { $0.hasPrefix("recovered:") }
        let returned = emitted.keys.count { $0.hasPrefix("token-returned:") }
        if used - returned != state.tokensInUse || returned != state.tokensReturned {
            violation = "\(used) tokens used, \(returned) returned, but \(state.tokensInUse) in use"
        }
        if policy.onBreak == .restart, let due = state.nextDue, due <= now { violation = "due \(due) is past" }
        // It folds everything from the start: now and then is enough.
        if policy.freezes != nil, isThorough || commands.count % 8 == 0 { checkFreezes(state) }
    }

    /// Whether it may be found again after it was undone: where dates that were not contributed for extend the count, or a break is undone
    /// that a later fact brings back. The key shows it.
    private func isRepeatable(_ effect: StreakEffect) -> Bool {
        policy.freezes != nil && (effect.key.hasPrefix("milestone") || effect.key.hasPrefix("freeze-earned"))
    }

    /// Freezes come from grants and counts and go to frozen dates: none is lost that was paid for, none is used twice.
    private mutating func checkFreezes(_ state: StreakState) {
        let whole = fold(self.whole(), policy, at: now)
        var (earned, lost) = (0, 0)
        for case .freezeEarned(_, _, _, _, let count, let granted) in whole.log {
            earned += granted
            lost += count - granted
        }
        let received = grants.filter { $0.at <= now }.map(\.count).reduce(0, +)
        // A date whose freeze an outage gave back stays frozen.
        let frozen = whole.log.count { if case .freezeSpent = $0 { true } else { false } }
        if whole.freezesHeld != received + earned - frozen {
            violation = "\(received) granted + \(earned) earned (\(lost) lost) − \(frozen) frozen ≠ \(whole.freezesHeld)"
        }
        if whole.freezesHeld < 0 || state.freezesLeft > state.freezesHeld { violation = "\(whole.freezesHeld) freezes in hand" }
    }

    private mutating func checkAgainstWhole() {
        let incremental = fold(short, policy, at: now)
        let whole = self.whole()
        var replayed = fold(whole, policy, at: now)
        replayed.days = replayed.days.filter { $0.key > short.base.settledThrough }
        replayed.log = incremental.log
        if replayed != incremental { violation = "replayed \(replayed) ≠ incremental \(incremental)" }
    }
}
