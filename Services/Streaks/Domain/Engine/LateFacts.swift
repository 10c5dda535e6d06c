import Kernel

/// Facts that come after dates were settled without them, because an event was on its way or a service was stopped: what they decide is
/// settled again as if they had come in time (SD-5, SD-6).
extension StreakLedger {
    /// SD-3. A zone that a clock has followed for a while moves the ends of dates that were settled without it: a break before the true end of
    /// its date was none.
    mutating func changeZone(
        of user: UserID,
        to zone: Zone,
        since: Instant,
        _ policy: StreakPolicy,
        _ state: StreakState
    ) throws(ServiceError) {
        guard let index = participants.firstIndex(where: { $0.user == user }) else { throw .notAMember }
        try late(since, policy, state) { ledger, _ in
            ledger.participants[index].zones.change(to: zone, at: min(since, state.asOf), recordedAt: state.asOf)
        }
    }

    /// A plan that a user has had for a while: what it decides is decided by it since then.
    mutating func changePlan(
        of user: UserID,
        isPremium: Bool,
        until: Instant?,
        since: Instant,
        _ policy: StreakPolicy,
        _ state: StreakState
    ) throws(ServiceError) {
        guard let index = participants.firstIndex(where: { $0.user == user }) else { throw .notAMember }
        try late(since, policy, state) { ledger, instant in
            ledger.participants[index].plans.change(isPremium: isPremium, until: until, at: instant)
        }
    }

    /// Does what was done at an instant that may lie before dates which were settled without it.
    ///
    /// - Throws: `ledgerTooShort` when the checkpoint hides such a date.
    mutating func late(
        _ instant: Instant,
        _ policy: StreakPolicy,
        _ state: StreakState,
        _ body: (inout StreakLedger, Instant) -> Void
    ) throws(ServiceError) {
        let now = state.asOf
        // What is as old as the streak holds from its start.
        let instant = min(now, max(instant, start))
        guard instant == now || reaches(instant) else { throw .ledgerTooShort }
        let before = self
        body(&self, instant)
        if instant < now { returnCovers(usedIn: before, since: instant, policy, at: now) }
    }

    /// Gives tokens, repairs and time machines back that were used for a date which a late fact shows to have been in no danger, as far as
    /// those who are missing can still contribute: what they can no longer save by themselves stays covered.
    ///
    /// - Parameters:
    ///   - before: this ledger without the fact.
    ///   - since: when the fact was made: what was used before it was used for something else.
    mutating func returnCovers(usedIn before: StreakLedger, since: Instant, _ policy: StreakPolicy, at now: Instant) {
        func isCandidate(_ recovery: Recovery) -> Bool {
            recovery.kind != .cover && recovery.returnedAt == nil && recovery.at >= since && recovery.from > base.settledThrough
        }
        guard recoveries.contains(where: isCandidate) else { return }
        for index in recoveries.indices where isCandidate(recoveries[index]) {
            let recovery = recoveries[index]
            guard before.isOfUse(recovery, policy), !inTime.isOfUse(recovery, policy) else { continue }
            if !isNeeded(recovery, policy, at: now) { recoveries[index].returnedAt = now }
        }
    }

    /// Whether a date that a recovery covers would be missed without it, or can no longer be completed by those who are missing.
    private func isNeeded(_ recovery: Recovery, _ policy: StreakPolicy, at now: Instant) -> Bool {
        var other = self
        other.recoveries.removeAll { $0 == recovery }
        let pass = FoldPass(other, policy, now: now)
        pass.run()
        var date = recovery.from
        while date <= max(recovery.from, recovery.through) {
            let slot = pass.calendar.slot(of: date)
            switch pass.days[slot.upperBound] {
            case .missed: return true
            case .open: if pass.isLost(slot) { return true }
            default: break
            }
            date = slot.upperBound.advanced(by: 1)
        }
        return false
    }

    /// Whether the date that a recovery was used for was missed without it, or at risk, by what was known when it was used.
    private func isOfUse(_ recovery: Recovery, _ policy: StreakPolicy) -> Bool {
        var other = self
        other.recoveries.removeAll { $0.at >= recovery.at }
        let pass = FoldPass(other, policy, now: recovery.at)
        pass.run()
        let date = pass.calendar.slot(of: recovery.from).upperBound
        if pass.days[date] == .missed { return true }
        let state = pass.state()
        return state.isAtRisk && state.openDate == date
    }

    /// The ledger as if changes of zones had been recorded when they were made.
    var inTime: StreakLedger {
        var other = self
        for index in participants.indices { other.participants[index].zones = participants[index].zones.recordedInTime }
        return other
    }

    /// When changes of zones were recorded over which a date of this ledger had ended by the zone of before, in time order.
    fileprivate func lateZones(by now: Instant) -> [Instant] {
        var late: Set<Instant> = []
        for participant in participants {
            let entries = participant.zones.entries
            for (old, new) in zip(entries, entries.dropFirst()) where new.recordedAt > new.since && new.recordedAt <= now {
                let ended = old.zone.date(at: new.recordedAt)
                if old.zone.date(at: new.since) < ended, ended > base.settledThrough { late.insert(new.recordedAt) }
            }
        }
        return late.sorted()
    }
}

extension FoldPass {
    /// The times in which a streak that stops at a break counted as broken although, by the zones that it received later, it was not: it took no
    /// contribution then (`isHardlySeen`).
    static func closures(of ledger: StreakLedger, _ policy: StreakPolicy, now: Instant) -> [Checkpoint.Closure] {
        var closures = ledger.base.closures
        guard policy.onBreak == .stop else { return closures }
        for instant in ledger.lateZones(by: now) {
            let before = FoldPass(ledger, policy, now: Instant(microseconds: instant.microseconds - 1), closures: closures)
            before.run()
            guard let brokenAt = before.running.brokenAt, !ledger.isBreakOff(at: brokenAt) else { continue }
            let after = FoldPass(ledger, policy, now: instant, closures: closures)
            after.run()
            let until = after.running.brokenAt ?? instant
            let closure = Checkpoint.Closure(from: brokenAt, until: until)
            if brokenAt < until, !closures.contains(closure) { closures.append(closure) }
        }
        return closures
    }
}
