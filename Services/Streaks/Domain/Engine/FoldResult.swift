public import Kernel

extension FoldPass {
    /// What the pass comes to.
    func state() -> StreakState {
        let isBroken = !isEnded && running.brokenOn != nil
        let deadline = open?.deadline
        // SD-8: while the count is 0 nothing breaks, so nothing is at risk (MS-4).
        let threatened = running.count > 0 && open.map { !$0.isSheltered } ?? false
        let riskFrom = threatened ? open.flatMap(lastChance).map { $0 - policy.riskSpan } : nil
        let tokens = ledger.recoveries.filter { $0.kind == .token && $0.at <= now }
        let returned = tokens.count { $0.isReturned(by: now) }
        return StreakState(
            status: isEnded ? .ended : isBroken ? .broken : .active,
            count: running.count,
            longest: policy.habits == nil ? max(running.longest, ledger.longestShown) : longest,
            lastCompletedDate: running.lastCompletedDate,
            runStart: running.runStart,
            missedDate: isBroken ? running.brokenOn : nil,
            brokenAt: isBroken ? running.brokenAt : nil,
            brokenBy: isBroken ? running.brokenBy : nil,
            lastBreak: running.lastBreak,
            days: days,
            openDate: open?.slot.upperBound,
            deadlineAt: deadline,
            graceDate: open.flatMap { end(of: $0.slot) <= now ? $0.slot.upperBound : nil },
            isAtRisk: riskFrom.map { now > $0 } ?? false,
            atRiskFrom: riskFrom,
            freezesLeft: max(0, running.freezes - reserved),
            freezesHeld: max(0, running.freezes),
            protections: isEnded ? [] : heldProtections(at: now),
            freeDatesLeft: freeDatesLeft(),
            pause: isEnded ? nil : presentPause(),
            wakesAt: isEnded ? nil : wakesAt(),
            tokensReturned: returned,
            tokensInUse: tokens.count - returned,
            habit: habitState(),
            asOf: now,
            log: log + recoveryLog()
        )
    }

    private func recoveryLog() -> [StreakEffect] {
        var entries: [StreakEffect] = []
        for recovery in ledger.recoveries where recovery.at <= now {
            let (from, user, at) = (recovery.from, recovery.user, recovery.at)
            switch recovery.kind {
            case .token, .cover: entries.append(.recovered(date: from, through: recovery.through, by: user, at: at))
            case .repair: entries.append(.repaired(date: from, through: recovery.through, by: user, id: recovery.id, at: at))
            case .fill: break
            }
            guard recovery.isReturned(by: now) else { continue }
            switch recovery.kind {
            case .token, .cover: entries.append(.tokenReturned(date: from, to: user, usedAt: at))
            case .repair, .fill:
                entries.append(.coverReturned(date: from, kind: recovery.kind, to: user, id: recovery.id, usedAt: at))
            }
        }
        for pause in ledger.pauses where pause.at <= now && pause.from < pause.until {
            entries.append(.paused(from: pause.from, until: pause.until, at: pause.at))
            if pauseEnd(pause) <= limit { entries.append(.pauseEnded(date: pause.until, pausedAt: pause.at)) }
        }
        if isEnded, let endedAt = ledger.endedAt { entries.append(.ended(at: endedAt)) }
        return entries
    }
}

extension FoldPass {
    /// When the first date after a pause begins.
    private func pauseEnd(_ pause: StreakLedger.Pause) -> Instant {
        end(of: pause.until.advanced(by: -1)...pause.until.advanced(by: -1))
    }

    private func presentPause() -> StreakLedger.Pause? {
        ledger.pauses.first { $0.at <= now && $0.from < $0.until && pauseEnd($0) > now }
    }

    private func wakesAt() -> Instant? {
        let pause = presentPause().map(pauseEnd)
        let grace = open.flatMap { open in
            policy.grace != nil && running.count > 0 && !open.isSheltered && end(of: open.slot) > now
                && end(of: open.slot) < open.deadline
                ? end(of: open.slot) : nil
        }
        return [pause, grace].compactMap { $0 }.min()
    }

    private func freeDatesLeft() -> Int {
        guard policy.freeDatesPerMonth != nil else { return 0 }
        let date = open?.slot.upperBound ?? participants.map { $0.zones.newestDate(by: limit) }.max() ?? running.settledThrough
        return max(0, freeDates(in: date, at: now) - usedFreeDates(in: date))
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
            let slot = pass.calendar.slot(of: pass.running.settledThrough.advanced(by: 1))
            let over = pass.over(slot)
            guard over + policy.finality <= pass.limit else { break }
            pass.judge(slot)
            if pass.isStopped { break }
            pass.running.settledThrough = slot.upperBound
            // What was earned, or spent by hand, later than this date ended is counted with a later one.
            guard !pass.pendingGrants.contains(where: \.isFolded) else { continue }
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
        short.habit?.skips = habit?.skips.filter { $0 > kept.settledThrough } ?? []
        short.freezeGrants = freezeGrants.filter { grant in kept.grantsThrough.map { grant.at > $0 } ?? true }
        return short
    }
}
