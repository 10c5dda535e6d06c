public import Kernel

/// The state of a streak at `now`, everything due by then settled: replaying, settling late, twice or elsewhere gives the same (SD-5).
///
/// The pass judges date by date from the checkpoint by the rules of SD-4. It uses only what was recorded by `now`.
public func fold(_ ledger: StreakLedger, _ policy: StreakPolicy, at now: Instant) -> StreakState {
    let pass = FoldPass(ledger, policy, now: now)
    pass.run()
    return pass.state()
}

/// One pass over the dates of a ledger. A class only so that asking it something copies nothing.
final class FoldPass {
    let ledger: StreakLedger
    let policy: StreakPolicy
    let now: Instant
    let participants: [StreakLedger.Participant]
    let firstDates: [CalendarDate]
    /// Whether the streak had ended by now.
    let isEnded: Bool
    /// Until when dates are settled.
    let limit: Instant
    /// What is settled so far.
    var running: Checkpoint
    var days: [CalendarDate: StreakState.Mark] = [:]
    var log: [StreakEffect] = []
    /// Times in which the streak counted as broken until its break was undone.
    var closures: [Checkpoint.Closure]
    /// The earliest slot that is neither over nor complete but could be.
    var open: Open?
    var pendingGrants: [StreakLedger.FreezeGrant]
    /// Freezes set by hand on dates that are not over.
    var reserved = 0

    struct Open {
        var slot: ClosedRange<CalendarDate>
        var deadline: Instant
        var isSheltered: Bool
    }

    enum Verdict: Equatable {
        case complete
        case nothingAtStake
        case covered
        case neutral
        case frozen
        case broken(by: UserID?)
    }

    init(_ ledger: StreakLedger, _ policy: StreakPolicy, now: Instant) {
        self.ledger = ledger
        self.policy = policy
        self.now = now
        isEnded = ledger.endedAt.map { $0 <= now } ?? false
        limit = [now, ledger.endedAt, ledger.brokenOff?.at].compactMap { $0 }.min() ?? now
        participants = ledger.participants.map { participant in
            var known = participant
            known.zones = participant.zones.known(at: now)
            return known
        }
        firstDates = participants.map { $0.firstDate(since: ledger.start) }
        running = ledger.base
        closures = ledger.base.closures
        let received = ledger.base.grantsThrough ?? .distantPast
        pendingGrants = ledger.freezeGrants.filter { $0.at > received && $0.at <= now }.sorted { $0.at < $1.at }
    }

    /// The streak stopped at a break or its end; later dates are not judged.
    var isStopped: Bool { policy.onBreak == .stop && running.brokenOn != nil }

    /// Judges the slots up to the newest date any clock has shown or any contribution has.
    func run() {
        let shown = participants.map { $0.zones.newestDate(by: limit) }.max() ?? running.settledThrough
        let posted = ledger.contributions.filter { $0.value.contains { $0.recordedAt <= now } }.keys.max() ?? shown
        var date = running.settledThrough.advanced(by: 1)
        while date <= max(shown, posted), !isStopped {
            let slot = policy.schedule.slot(of: date)
            judge(slot)
            date = slot.upperBound.advanced(by: 1)
        }
        receiveGrants(until: now)
        settleBreakOff()
        if open == nil, !isStopped, !isEnded { findOpen(from: date) }
    }

    func judge(_ slot: ClosedRange<CalendarDate>) {
        guard slot.contains(where: policy.schedule.includes) else {
            days[slot.upperBound] = .neutral
            return
        }
        if isComplete(slot, known: now) {
            noteClosure(slot)
            extend(slot)
            return
        }
        let over = self.over(slot)
        guard over <= limit else {
            days[slot.upperBound] = isEnded ? StreakState.Mark.none : .open
            reserved += isFrozenByHand(slot, known: now) ? 1 : 0
            if open == nil, !isEnded, isCompletable(slot), !isPaused(slot, known: now) { setOpen(slot, over) }
            return
        }
        receiveGrants(until: over)
        settle(slot, over)
    }

    /// SD-4, for a slot that is over.
    private func settle(_ slot: ClosedRange<CalendarDate>, _ over: Instant) {
        let date = slot.upperBound
        let verdict = self.verdict(slot, over, known: now)
        switch verdict {
        case .complete: break
        case .nothingAtStake: days[date] = StreakState.Mark.none
        case .covered: days[date] = .covered
        case .neutral: days[date] = .neutral
        case .frozen:
            days[date] = .frozen
            running.freezes -= 1
            log.append(.freezeSpent(date: date))
            count(date)
        case .broken(let user):
            days[date] = .missed
            log.append(.broken(date: date, at: over, by: user, count: running.count))
            running.brokenOn = date
            running.brokenAt = over
            running.brokenBy = user
            if policy.onBreak == .restart {
                running.count = 0
                running.runStart = nil
            }
        }
        if verdict == .covered || verdict == .neutral { noteClosure(slot) }
        if hadGrace(slot), over > end(of: slot) { running.lastGrace = date }
    }

    private func extend(_ slot: ClosedRange<CalendarDate>) {
        let date = slot.upperBound
        days[date] = .complete
        if policy.grace != nil, hadGrace(slot), !isComplete(slot, received: end(of: slot)) { running.lastGrace = date }
        running.lastCompletedDate = max(running.lastCompletedDate ?? date, date)
        count(date)
        log.append(.completed(date: date, count: running.count))
    }

    /// One more date of the run, and what its count brings.
    private func count(_ date: CalendarDate) {
        running.brokenOn = nil
        running.brokenAt = nil
        running.brokenBy = nil
        let run = running.runStart ?? date
        running.runStart = run
        running.count += 1
        running.longest = max(running.longest, running.count)
        let count = running.count
        if policy.milestones.contains(count) { log.append(.milestone(count: count, date: date, run: run)) }
        if let every = policy.recovery?.earnedEvery, every > 0, count % every == 0 {
            log.append(.tokenEarned(count: count, date: date, run: run))
        }
        if let freezes = policy.freezes, let every = freezes.earnedEvery, every > 0, count % every == 0 {
            let granted = running.freezes < freezes.cap
            running.freezes += granted ? 1 : 0
            log.append(.freezeEarned(count: count, date: date, run: run, granted: granted))
        }
    }

    private func receiveGrants(until instant: Instant) {
        let cap = policy.freezes?.cap ?? 0
        while let grant = pendingGrants.first, grant.at <= instant {
            running.freezes = max(running.freezes, min(cap, running.freezes + grant.count))
            running.grantsThrough = grant.at
            pendingGrants.removeFirst()
        }
    }

    private func setOpen(_ slot: ClosedRange<CalendarDate>, _ deadline: Instant) {
        let isSheltered = cover(slot, known: now) != nil || isNeutral(slot, deadline, known: now)
        open = Open(slot: slot, deadline: deadline, isSheltered: isSheltered)
    }

    /// The first slot to come that counts: pauses are 90 dates at most, and no schedule leaves out more than two months.
    private func findOpen(from date: CalendarDate) {
        var date = date
        for _ in 0..<800 {
            let slot = policy.schedule.slot(of: date)
            if slot.contains(where: policy.schedule.includes), isCompletable(slot), !isPaused(slot, known: now) {
                setOpen(slot, over(slot))
                return
            }
            date = slot.upperBound.advanced(by: 1)
        }
    }
}
