import Kernel

/// The questions SD-4 asks of a slot (a date, or a week of a habit).
extension FoldPass {
    typealias Slot = ClosedRange<CalendarDate>

    /// What a slot that is over at `over` comes to, by what was known at `known`.
    func verdict(_ slot: Slot, _ over: Instant, known: Instant) -> Verdict {
        if isComplete(slot, known: known) { return .complete }
        if running.count == 0 { return .nothingAtStake }
        if let cover = cover(slot, known: known) { return cover.kind == .fill ? .filled(cover) : .covered }
        if isNeutral(slot, over, known: known) { return isKeptByFreeze(slot, over) ? .keptFrozen : .neutral }
        if policy.freezes != nil, running.freezes > 0 { return .frozen }
        if usedFreeDates(in: slot.upperBound) < freeDates(in: slot.upperBound, at: over) { return .free }
        if let protection = protection(slot.upperBound, over) { return protection }
        // Who had one in hand at the end has spent it: this one came later.
        if let late = ledger.manualFreezes.first(where: { slot.contains($0.date) && $0.at >= over && $0.at <= known }) {
            return .frozenByHand(at: late.at)
        }
        return .broken(by: misser(slot, over, known: known))
    }

    /// Whether a freeze had kept the slot when it was over, before an outage that was declared afterwards excused it. It keeps its place in
    /// the count: otherwise what later counts had earned would be missing, and a declared outage could break a streak.
    private func isKeptByFreeze(_ slot: Slot, _ over: Instant) -> Bool {
        policy.freezes != nil && running.freezes > 0 && !isNeutral(slot, over, known: over)
    }

    /// When the slot is settled: when it is over for all members, later with a grace.
    func over(_ slot: Slot) -> Instant {
        guard let grace = policy.grace, hadGrace(slot) else { return end(of: slot) }
        return end(of: slot) + grace.length
    }

    /// The first instant at which every participant's clock has shown a later date (SD-4).
    ///
    /// For who left, it was over when they did: leaving never moves the end of a date into the past.
    func end(of slot: Slot) -> Instant {
        let date = slot.upperBound
        if case .share = policy.quorum, let latest = latestEnd(of: date) { return latest }
        return participants.map { $0.zones.end(of: date) }.max() ?? Zone.utc.end(of: date)
    }

    /// When a date is over for those who are or were members on it; nil when there were none.
    private func latestEnd(of date: CalendarDate) -> Instant? {
        var latest: Instant?
        for (index, participant) in participants.enumerated() {
            let zones = participant.zones
            for (stay, first) in zip(participant.stays, firstDates[index]) where first <= date {
                if let left = stay.left, date > zones.newestDate(by: left) { continue }
                let end = zones.end(of: date)
                latest = max(latest ?? .distantPast, stay.left.map { min($0, end) } ?? end)
            }
        }
        return latest
    }

    /// Whether a grace is to be had for the slot (TS-4).
    func hadGrace(_ slot: Slot) -> Bool {
        guard let grace = policy.grace, running.count > 0 else { return false }
        guard running.lastGrace.map({ $0.distance(to: slot.upperBound) >= grace.everyDates }) ?? true else { return false }
        // A date that is neutral at its end needs none, and takes no contribution of the next.
        let end = end(of: slot)
        return !slot.contains { isNeutral($0, end, known: now) { $0.receivedAt < end && $0.recordedAt <= self.now } }
    }

    /// The members on `date`: both of a pair; of a team those who had joined and not left.
    func members(_ date: CalendarDate) -> [StreakLedger.Participant] {
        guard case .share = policy.quorum else { return participants }
        return participants.indices.filter { index in
            let participant = participants[index]
            return zip(participant.stays, firstDates[index]).contains { stay, first in
                guard first <= date else { return false }
                guard let left = stay.left else { return true }
                return date < participant.zones.date(at: left)
                    || ledger.contributions[date]?.contains {
                        $0.user == participant.user && $0.recordedAt <= now && $0.receivedAt <= left
                    } ?? false
            }
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
        calendar.isReached(slot) { isComplete($0, by: counts) }
    }

    func isComplete(_ date: CalendarDate, by counts: (StreakLedger.Contribution) -> Bool) -> Bool {
        guard let contributions = ledger.contributions[date], calendar.includes(date) else { return false }
        if let target = target(on: date) { return contributions.reaches(target, by: counts) }
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

    /// By a pause, or in the archive (HA-13).
    func isPaused(_ date: CalendarDate, known: Instant) -> Bool {
        ledger.habit?.isArchived(date) ?? false || ledger.pauses.contains { $0.at <= known && $0.from <= date && date < $0.until }
    }

    /// Whether the slot would be complete if its excused dates and the participants excused from them had contributed.
    func isNeutral(_ slot: Slot, _ over: Instant, known: Instant) -> Bool {
        if calendar.isCut(slot) { return true }
        var done = 0
        for date in slot where calendar.includes(date) {
            if isComplete(date, by: { $0.recordedAt <= known }) || isNeutral(date, over, known: known) { done += 1 }
        }
        return done >= calendar.needed(slot)
    }

    func isNeutral(_ date: CalendarDate, _ over: Instant, known: Instant) -> Bool {
        isNeutral(date, over, known: known) { $0.recordedAt <= known }
    }

    private func isNeutral(
        _ date: CalendarDate,
        _ over: Instant,
        known: Instant,
        by counts: (StreakLedger.Contribution) -> Bool
    ) -> Bool {
        if isPaused(date, known: known) || ledger.habit?.skips.contains(date) ?? false { return true }
        let outages = ledger.outages.filter { $0.declaredAt <= known }.compactMap { Span($0.from, $0.until) }
        let members = self.members(date)
        if case .share(_, let atLeast) = policy.quorum, members.count < atLeast { return true }
        var fine = 0
        for member in members {
            let spans = member.zones.spans(showing: date, before: over)
            if Span.overlap(of: spans, with: outages) > policy.outageLoss { return true }
            let hasPosted = ledger.contributions[date]?.contains { $0.user == member.user && counts($0) } ?? false
            // HA-8: partial is missed.
            if policy.habits != nil { return isComplete(date, by: counts) || isHardlySeen(spans) }
            if hasPosted || isHardlySeen(spans) { fine += 1 }
        }
        return fine >= needed(of: members.count)
    }

    /// Whether a clock showed a date for less than 12 h while the streak could accept a contribution (SD-3).
    ///
    /// Time in which the streak wrongly counted as broken is left out (SD-9): a break that is undone days later must not leave the
    /// dates in between as missed.
    private func isHardlySeen(_ spans: [Span]) -> Bool {
        let shown = spans.reduce(Interval.zero) { $0 + $1.length }
        return shown < policy.hardlySeen + Span.overlap(of: spans, with: closures.compactMap { Span($0.from, $0.until) })
    }

    /// The only member who missed; nil when several did, or when no particular member must contribute (MS-3). Who hardly saw the date has
    /// not missed it (SD-9).
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
        return firstDates.allSatisfy { $0.first.map { $0 <= slot.upperBound } ?? false }
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
