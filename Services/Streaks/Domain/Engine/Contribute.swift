public import Kernel

extension StreakLedger {
    /// The date a contribution received now would count for; changes nothing.
    ///
    /// - Throws: as `applying(.contribute …)`.
    public func dateCredited(
        to user: UserID,
        receivedAt: Instant,
        capturedAt: Instant?,
        _ policy: StreakPolicy,
        at now: Instant
    ) throws(ServiceError) -> CalendarDate {
        try dateCredited(to: user, receivedAt: receivedAt, capturedAt: capturedAt, policy, fold(self, policy, at: now))
    }

    /// The same, with the state already folded.
    func dateCredited(
        to user: UserID,
        receivedAt: Instant,
        capturedAt: Instant?,
        _ policy: StreakPolicy,
        _ state: StreakState
    ) throws(ServiceError) -> CalendarDate {
        let now = state.asOf
        guard let author = participant(user) else { throw .notAMember }
        if let endedAt, receivedAt >= endedAt { throw .notActive }
        if policy.onBreak == .stop, let brokenOff, receivedAt >= brokenOff.at { throw .notActive }
        let date = try creditedDate(author, receivedAt, capturedAt, policy, state)
        guard author.isMember(on: date, receivedAt: receivedAt) else { throw .notAMember }
        if policy.onBreak == .restart {
            for off in [brokenOff].compactMap({ $0 }) + earlierBreakOffs
            where receivedAt >= off.at && date <= author.zones.newestDate(by: off.at) { throw .notActive }
        }
        // A member who travels west right after the start may post for a date before the first: it is accepted and counts for nothing.
        guard date > base.settledThrough || date < firstDate else { throw .ledgerTooShort }
        // What was received before the break counts however late it is recorded; after it, only what re-opens a settled date (SD-6).
        if policy.onBreak == .stop, let brokenAt = state.brokenAt, let missed = state.missedDate,
            receivedAt >= brokenAt, date > missed
        {
            throw .notActive
        }
        guard !hasContributed(user, on: date, known: now) else { throw .alreadyPosted }
        return date
    }

    /// SD-1, SD-2, and the grace of TS-4. A date has one contribution of a member: a late one for a date that has one counts for today.
    private func creditedDate(
        _ author: Participant,
        _ receivedAt: Instant,
        _ capturedAt: Instant?,
        _ policy: StreakPolicy,
        _ state: StreakState
    ) throws(ServiceError) -> CalendarDate {
        let zones = author.zones.made(by: receivedAt)
        let today = zones.date(at: receivedAt)
        func isFree(_ date: CalendarDate) -> Bool {
            date < today && date >= author.firstDate(since: start)
                && !(contributions[date]?.contains { $0.user == author.user } ?? false)
        }
        let claimed = author.zones.dateClaimed(receivedAt: receivedAt, capturedAt: capturedAt, policy)
        if isFree(claimed) { return claimed }
        // A date that is over for all members is one of the two before, by the clock furthest east.
        guard isFree(today.advanced(by: -1)) || isFree(today.advanced(by: -2)) else { return today }
        if let grace = try graceDate(at: receivedAt, policy, state), isFree(grace) { return grace }
        return today
    }

    /// The date that was in its grace when something was received, by what had been received before it. What is recorded late counts as it
    /// would have on time (SD-5): also when the grace has begun or ended since.
    private func graceDate(at receivedAt: Instant, _ policy: StreakPolicy, _ state: StreakState) throws(ServiceError)
        -> CalendarDate?
    {
        guard let grace = policy.grace else { return nil }
        guard receivedAt < state.asOf else { return state.graceDate }
        guard reaches(receivedAt - grace.length) else { throw .ledgerTooShort }
        var earlier = inTime
        for (date, known) in contributions {
            // Recorded when they were received.
            earlier.contributions[date] = known.filter { $0.receivedAt < receivedAt }
                .map { Contribution(user: $0.user, date: date, receivedAt: $0.receivedAt) }
        }
        return fold(earlier, policy, at: receivedAt).graceDate
    }

    mutating func contribute(
        _ user: UserID,
        receivedAt: Instant,
        capturedAt: Instant?,
        _ policy: StreakPolicy,
        _ state: StreakState
    ) throws(ServiceError) -> CalendarDate {
        let date = try dateCredited(to: user, receivedAt: receivedAt, capturedAt: capturedAt, policy, state)
        let movesStart = policy.beginsWithActivity && receivedAt < start && date.advanced(by: 1) == firstDate
        guard !movesStart || base.settledThrough < firstDate else { throw .ledgerTooShort }
        contributions[date, default: []].append(
            Contribution(user: user, date: date, receivedAt: receivedAt, recordedAt: state.asOf)
        )
        if movesStart { moveStart(of: user) }
        returnCovers(policy, at: state.asOf)
        return date
    }

    /// The first activities were recorded in another order than they were received, over a midnight: the streak begins with the earliest.
    ///
    /// One that lies further back than the date before the first counts for nothing, as long as the dates between are empty: the streak
    /// would have broken before it began.
    private mutating func moveStart(of user: UserID) {
        func activityBefore() -> Contribution? {
            contributions[firstDate.advanced(by: -1)]?.first { $0.user == user && $0.receivedAt < start }
        }
        while let earlier = activityBefore() {
            start = earlier.receivedAt
            base = Checkpoint(settledThrough: firstDate.advanced(by: -1))
        }
    }

    /// Gives tokens, repairs and time machines back whose date was completed after all (RC-3, SD-6, CI-3).
    ///
    /// A token that also keeps another date stays when a member can no longer contribute to that date: giving it back would make a
    /// contribution break the streak.
    private mutating func returnCovers(_ policy: StreakPolicy, at now: Instant) {
        // Those behind the checkpoint cannot be reached by a contribution that this ledger takes.
        func isOpen(_ recovery: Recovery) -> Bool {
            recovery.kind != .cover && recovery.returnedAt == nil && recovery.from > base.settledThrough
        }
        guard recoveries.contains(where: isOpen) else { return }
        let pass = FoldPass(self, policy, now: now)
        pass.run()
        for index in recoveries.indices where isOpen(recoveries[index]) {
            let recovery = recoveries[index]
            guard pass.isComplete(pass.calendar.slot(of: recovery.from), known: now) else { continue }
            var date = recovery.from.advanced(by: 1)
            var isNeeded = false
            while date <= recovery.through, !isNeeded {
                isNeeded = pass.isLost(pass.calendar.slot(of: date))
                date = date.advanced(by: 1)
            }
            if !isNeeded { recoveries[index].returnedAt = now }
        }
    }
}

extension FoldPass {
    /// Whether the slot can no longer be completed in time by those who are missing, and is not excused.
    func isLost(_ slot: Slot) -> Bool {
        if isComplete(slot, known: now) || isNeutral(slot, over(slot), known: now) { return false }
        return members(slot.upperBound).contains { member in
            member.zones.end(of: slot.upperBound) <= now
                && !slot.contains { ledger.hasContributed(member.user, on: $0, known: now) }
        }
    }
}

/// What the times of a contribution claim, whatever any ledger holds (SD-1, SD-2).
public struct CaptureClaim: Hashable, Sendable {
    /// The author's date: that of the client's clock while it is believed, else that of the receipt. A repeat within the tolerance claims the same
    /// date again.
    public let date: CalendarDate
    /// When it happened, as far as that is believed, never after the receipt.
    public let at: Instant
    /// The client's clock is not believed, and the time of receipt counts: it is too far ahead, or behind what may still come.
    public let isCaptureIgnored: Bool
}

extension ZoneHistory {
    /// What a contribution of this clock claims.
    public func claim(receivedAt: Instant, capturedAt: Instant?, _ policy: StreakPolicy) -> CaptureClaim {
        let zones = made(by: receivedAt)
        let today = zones.date(at: receivedAt)
        guard let capturedAt else { return CaptureClaim(date: today, at: receivedAt, isCaptureIgnored: false) }
        let date = zones.date(at: min(capturedAt, receivedAt))
        let isLate = date < today && receivedAt > zones.end(of: date) + policy.lateTolerance
        if isLate || capturedAt > receivedAt + policy.clockTolerance || capturedAt < receivedAt - policy.oldestCapture {
            return CaptureClaim(date: today, at: receivedAt, isCaptureIgnored: true)
        }
        // What was captured before travelling west may lie on a later date than the present one: that one counts.
        guard date <= today else { return CaptureClaim(date: today, at: receivedAt, isCaptureIgnored: false) }
        return CaptureClaim(date: date, at: min(capturedAt, receivedAt), isCaptureIgnored: false)
    }

    /// The date of `claim`.
    public func dateClaimed(receivedAt: Instant, capturedAt: Instant?, _ policy: StreakPolicy) -> CalendarDate {
        claim(receivedAt: receivedAt, capturedAt: capturedAt, policy).date
    }
}
