import Kernel

/// The questions SD-4 asks of a slot (a date, or a week of a habit).
extension FoldPass {
    typealias Slot = ClosedRange<CalendarDate>

    /// What a slot that is over at `over` comes to, by what was known at `known`.
    func verdict(_ slot: Slot, _ over: Instant, known: Instant) -> Verdict {
        if isComplete(slot, known: known) { return .complete }
        if running.count == 0 { return .nothingAtStake }
        if cover(slot, known: known) != nil { return .covered }
        if isNeutral(slot, over, known: known) { return .neutral }
        if policy.freezes != nil, running.freezes > 0 || isFrozenByHand(slot, known: known) { return .frozen }
        return .broken(by: misser(slot, over, known: known))
    }

    /// When the slot is settled: when it is over for all members, later with a grace.
    func over(_ slot: Slot) -> Instant {
        guard let grace = policy.grace, hadGrace(slot) else { return end(of: slot) }
        return end(of: slot) + grace.length
    }

    /// The first instant at which every participant's clock has shown a later date (SD-4).
    func end(of slot: Slot) -> Instant {
        members(slot.upperBound).map { $0.zones.end(of: slot.upperBound) }.max() ?? Zone.utc.end(of: slot.upperBound)
    }

    /// Whether a grace is to be had for the slot (TS-4).
    func hadGrace(_ slot: Slot) -> Bool {
        guard let grace = policy.grace, running.count > 0 else { return false }
        return running.lastGrace.map { $0.distance(to: slot.upperBound) >= grace.everyDates } ?? true
    }

    /// The members on `date`: both of a pair; of a team those who had joined and not left.
    func members(_ date: CalendarDate) -> [StreakLedger.Participant] {
        guard case .share = policy.quorum else { return participants }
        return participants.indices.filter { index in
            let left = participants[index].left.map { participants[index].zones.date(at: $0) }
            return firstDates[index] <= date && left.map { date < $0 } ?? true
        }.map { participants[$0] }
    }

    /// How many of `members` make a date complete.
    func needed(of members: Int) -> Int {
        switch policy.quorum {
        case .everyone: members
        case .share(let percent, let atLeast): max(atLeast, (members * percent + 99) / 100)
        }
    }

    func isComplete(_ slot: Slot, known: Instant) -> Bool {
        isComplete(slot) { $0.recordedAt <= known }
    }

    /// Whether what had been received before `instant` made the slot complete.
    func isComplete(_ slot: Slot, received instant: Instant) -> Bool {
        isComplete(slot) { $0.receivedAt < instant && $0.recordedAt <= now }
    }

    private func isComplete(_ slot: Slot, by counts: (StreakLedger.Contribution) -> Bool) -> Bool {
        var complete = 0
        for date in slot where isComplete(date, by: counts) { complete += 1 }
        return complete >= policy.schedule.needed
    }

    private func isComplete(_ date: CalendarDate, by counts: (StreakLedger.Contribution) -> Bool) -> Bool {
        guard let contributions = ledger.contributions[date], policy.schedule.includes(date) else { return false }
        let members = self.members(date)
        let posted = members.count { member in contributions.contains { $0.user == member.user && counts($0) } }
        return posted > 0 && posted >= needed(of: members.count)
    }

    /// The recovery that keeps the slot, as known then.
    func cover(_ slot: Slot, known: Instant) -> StreakLedger.Recovery? {
        ledger.recoveries.first { $0.covers(slot, known: known) }
    }

    func isFrozenByHand(_ slot: Slot, known: Instant) -> Bool {
        ledger.manualFreezes.contains { slot.contains($0.date) && $0.at <= known }
    }

    func isPaused(_ slot: Slot, known: Instant) -> Bool { slot.allSatisfy { isPaused($0, known: known) } }

    private func isPaused(_ date: CalendarDate, known: Instant) -> Bool {
        ledger.pauses.contains { $0.at <= known && $0.from <= date && date < $0.until }
    }

    /// Whether the slot would be complete if its excused dates and the participants excused from them had contributed.
    func isNeutral(_ slot: Slot, _ over: Instant, known: Instant) -> Bool {
        var done = 0
        for date in slot where policy.schedule.includes(date) {
            if isComplete(date, by: { $0.recordedAt <= known }) || isNeutral(date, over, known: known) { done += 1 }
        }
        return done >= policy.schedule.needed
    }

    private func isNeutral(_ date: CalendarDate, _ over: Instant, known: Instant) -> Bool {
        if isPaused(date, known: known) { return true }
        let outages = ledger.outages.filter { $0.declaredAt <= known }.compactMap { Span($0.from, $0.until) }
        let members = self.members(date)
        var fine = 0
        for member in members {
            let spans = member.zones.spans(showing: date, before: over)
            if Span.overlap(of: spans, with: outages) > policy.outageLoss { return true }
            if ledger.hasContributed(member.user, on: date, known: known) || isHardlySeen(spans) { fine += 1 }
        }
        return fine >= needed(of: members.count)
    }

    /// Whether a clock showed a date for less than 12 h while the streak could accept a contribution (SD-3).
    ///
    /// Time in which the streak wrongly counted as broken is left out: a break that is undone days later must not leave the
    /// dates in between as missed.
    private func isHardlySeen(_ spans: [Span]) -> Bool {
        let shown = spans.reduce(Interval.zero) { $0 + $1.length }
        return shown < policy.hardlySeen + Span.overlap(of: spans, with: closures.compactMap { Span($0.from, $0.until) })
    }

    /// The only member who missed; nil when several did, or when no particular member must contribute (MS-3).
    func misser(_ slot: Slot, _ over: Instant, known: Instant) -> UserID? {
        guard policy.quorum == .everyone else { return nil }
        let missing = participants.filter { participant in
            !slot.contains { ledger.hasContributed(participant.user, on: $0, known: known) }
                && !slot.allSatisfy { isHardlySeen(participant.zones.spans(showing: $0, before: over)) }
        }
        return missing.count == 1 ? missing[0].user : nil
    }

    /// Whether all members could contribute at all: a date that was over for one of them before the start cannot become complete.
    func isCompletable(_ slot: Slot) -> Bool {
        guard policy.quorum == .everyone else { return true }
        return firstDates.allSatisfy { $0 <= slot.upperBound }
    }

    /// Notes from when until when the streak counted as broken because of this slot, if what keeps it was recorded late.
    func noteClosure(_ slot: Slot) {
        guard policy.onBreak == .stop, running.count > 0 else { return }
        let over = self.over(slot)
        func isLate(_ instant: Instant) -> Bool { instant > over && instant <= now }
        let recoveries = ledger.recoveries.lazy.filter { slot.overlaps($0.from...max($0.from, $0.through)) }
        // Nearly always nothing was: found out without making a list.
        let isAnyLate =
            slot.contains { ledger.contributions[$0]?.contains { isLate($0.recordedAt) } ?? false }
            || recoveries.contains { isLate($0.at) } || ledger.outages.contains { isLate($0.declaredAt) }
        guard isAnyLate, case .broken = verdict(slot, over, known: over) else { return }
        let contributions = slot.flatMap { ledger.contributions[$0] ?? [] }
        let late = contributions.map(\.recordedAt) + recoveries.map(\.at) + ledger.outages.map(\.declaredAt)
        for instant in late.filter(isLate).sorted() {
            if case .broken = verdict(slot, over, known: instant) { continue }
            closures.append(Checkpoint.Closure(from: over, until: instant))
            return
        }
    }
}
