public import Kernel

extension FoldPass {
    /// What the pass comes to.
    func state() -> StreakState {
        let isBroken = !isEnded && running.brokenOn != nil
        let deadline = open?.deadline
        // SD-8: while the count is 0 nothing breaks, so nothing is at risk (MS-4).
        let threatened = running.count > 0 && open.map { !$0.isSheltered } ?? false
        let riskFrom = threatened ? deadline.map { $0 - policy.riskSpan } : nil
        let tokens = ledger.recoveries.filter { $0.kind == .token && $0.at <= now }
        let returned = tokens.count { $0.isReturned(by: now) }
        return StreakState(
            status: isEnded ? .ended : isBroken ? .broken : .active,
            count: running.count,
            longest: max(running.longest, ledger.longestShown),
            lastCompletedDate: running.lastCompletedDate,
            runStart: running.runStart,
            missedDate: isBroken ? running.brokenOn : nil,
            brokenAt: isBroken ? running.brokenAt : nil,
            brokenBy: isBroken ? running.brokenBy : nil,
            days: days,
            openDate: open?.slot.upperBound,
            deadlineAt: deadline,
            graceDate: open.flatMap { end(of: $0.slot) <= now ? $0.slot.upperBound : nil },
            isAtRisk: riskFrom.map { now > $0 } ?? false,
            atRiskFrom: riskFrom,
            freezesLeft: max(0, running.freezes - reserved),
            tokensReturned: returned,
            tokensInUse: tokens.count - returned,
            asOf: now,
            log: log + recoveryLog()
        )
    }

    private func recoveryLog() -> [StreakEffect] {
        var entries: [StreakEffect] = []
        for recovery in ledger.recoveries where recovery.at <= now {
            entries.append(
                .recovered(date: recovery.from, through: recovery.through, by: recovery.user, at: recovery.at)
            )
            if recovery.isReturned(by: now) {
                entries.append(.tokenReturned(date: recovery.from, to: recovery.user, usedAt: recovery.at))
            }
        }
        if isEnded, let endedAt = ledger.endedAt { entries.append(.ended(at: endedAt)) }
        return entries
    }
}

extension StreakLedger {
    /// The same ledger with everything settled for good folded into its checkpoint and the entries behind it left out.
    ///
    /// Settled for good is a date that was over long enough ago (`StreakPolicy.finality`) that no late contribution can reach it. A
    /// break that still stands is never passed. Folding the result gives what folding the whole gives.
    public func compacted(_ policy: StreakPolicy, at now: Instant) -> StreakLedger {
        let pass = FoldPass(self, policy, now: now)
        var kept = pass.running
        var reached: Instant?
        while true {
            let slot = policy.schedule.slot(of: kept.settledThrough.advanced(by: 1))
            let over = pass.over(slot)
            guard over + policy.finality <= pass.limit else { break }
            pass.judge(slot)
            if pass.isStopped { break }
            pass.running.settledThrough = slot.upperBound
            kept = pass.running
            kept.closures = pass.closures.filter { $0.until > over - .days(3) }
            reached = over
        }
        guard let reached else { return self }
        var short = self
        short.base = kept
        short.contributions = contributions.filter { $0.key > kept.settledThrough || $0.key < firstDate }
        short.pauses = pauses.filter { $0.until > kept.settledThrough }
        short.outages = outages.filter { $0.until > reached - .days(3) }
        short.manualFreezes = manualFreezes.filter { $0.date > kept.settledThrough }
        short.freezeGrants = freezeGrants.filter { grant in kept.grantsThrough.map { grant.at > $0 } ?? true }
        return short
    }
}
