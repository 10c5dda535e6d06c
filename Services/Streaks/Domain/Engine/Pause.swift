import Kernel

extension StreakLedger {
    /// CI-4: from the date of the participant on which it was received; to the later end, where another one lies ahead of it.
    mutating func pause(until: CalendarDate, receivedAt: Instant, _ policy: StreakPolicy, _ state: StreakState)
        throws(ServiceError)
    {
        guard let longest = policy.longestPause, let from = nextUnsettled(at: min(receivedAt, state.asOf)) else {
            throw ServiceError(.failedPrecondition, "PAUSE_NOT_ALLOWED", "This streak cannot be paused.")
        }
        guard endedAt == nil else { throw .notActive }
        guard from < until else { throw .validation(field: "until", "must be after today") }
        guard from.distance(to: until) <= longest else {
            throw ServiceError(.invalidArgument, "PAUSE_TOO_LONG", "A pause is at most \(longest) days long.")
        }
        guard !pauses.contains(where: { $0.from <= from && from < $0.until }) else {
            throw ServiceError(.failedPrecondition, "ALREADY_PAUSED", "This streak is already paused.")
        }
        // It was received before one that was applied first, as by two devices around midnight: that one begins earlier, so that the date of
        // the first is paused in both orders (SD-5). The later end stays, which a device may have been shown.
        if let index = pauses.firstIndex(where: { from < $0.from && $0.from <= until && $0.from < $0.until }) {
            let end = max(until, pauses[index].until)
            return try late(receivedAt, policy, state) { ledger, _ in
                (ledger.pauses[index].from, ledger.pauses[index].until) = (from, end)
            }
        }
        // CI-1: otherwise pauses in a row would keep a streak for ever.
        if let last = pauses.filter({ $0.from < $0.until }).map(\.until).max(), state.lastCompletedDate.map({ $0 < last }) ?? true
        {
            throw ServiceError(.failedPrecondition, "PAUSE_NEEDS_CHECK_IN", "Between two pauses lies one check-in.")
        }
        try late(receivedAt, policy, state) { ledger, _ in
            ledger.pauses.append(Pause(at: state.asOf, from: from, until: until))
        }
    }

    /// The pause ends: the present date counts again.
    mutating func resume(_ policy: StreakPolicy, _ state: StreakState) throws(ServiceError) {
        guard let today = nextUnsettled(at: state.asOf),
            let index = pauses.firstIndex(where: { $0.from <= today && today < $0.until })
        else {
            throw ServiceError(.failedPrecondition, "NOT_PAUSED", "This streak is not paused.")
        }
        pauses[index].until = today
    }

    /// A freeze by hand for the participant's yesterday or today (CI-2). On a date that has broken the streak it is spent at once, and the break
    /// is undone: a freeze that was in hand at the end of the date has been spent by itself, so this one came later.
    mutating func freeze(_ date: CalendarDate, _ policy: StreakPolicy, _ state: StreakState) throws(ServiceError) {
        let now = state.asOf
        guard let rule = policy.freezes, endedAt == nil, let today = today(at: now) else { throw .notActive }
        guard date == today || date == today.advanced(by: -1) else {
            throw .validation(field: "date", "must be yesterday or today")
        }
        guard state.freezesLeft > 0 else {
            throw ServiceError(.failedPrecondition, "NO_FREEZES_AVAILABLE", "You have no freezes left.")
        }
        let isSet = manualFreezes.contains { $0.date == date }
        switch state.mark(on: date) {
        case .missed:
            // What a moderator has decided no freeze undoes (SO-9).
            guard let broken = state.lastBreak, broken.date == date else { throw .notActive }
            guard now <= broken.at + rule.lateWindow else {
                throw ServiceError(.failedPrecondition, "FREEZE_TOO_LATE", "The time to freeze this date is over.")
            }
            guard date > base.settledThrough else { throw .ledgerTooShort }
        case .open where !isSet && state.count > 0: break
        default: throw ServiceError(.failedPrecondition, "FREEZE_NOT_NEEDED", "This date does not need a freeze.")
        }
        manualFreezes.append(ManualFreeze(at: now, date: date))
    }

    /// CI-2: at most so many in hand; what is set by hand and may come back counts.
    ///
    /// What becomes of a date must not depend on when the payment reaches the ledger (SD-5): a date that was not over at the payment is
    /// settled again with these freezes, as long as its late contributions count.
    mutating func grantFreezes(
        _ count: Int,
        _ id: OperationID,
        obtainedAt: Instant?,
        _ policy: StreakPolicy,
        _ state: StreakState
    ) throws(ServiceError) {
        guard !freezeGrants.contains(where: { $0.id == id }) else { return }
        guard let cap = policy.freezes?.cap, endedAt == nil else { throw .notActive }
        guard count > 0 else { throw .validation(field: "quantity", "must be positive") }
        guard state.freezesHeld + count <= cap else {
            throw ServiceError(.failedPrecondition, "MAX_FREEZES_REACHED", "You can hold at most \(cap) freezes.")
        }
        let at = max(start, state.asOf - policy.finality, min(state.asOf, obtainedAt ?? state.asOf))
        if at < state.asOf {
            guard reaches(at), base.grantsThrough.map({ $0 < at }) ?? true else { throw .ledgerTooShort }
        }
        freezeGrants.append(FreezeGrant(at: at, count: count, id: id))
    }

    /// The present date of a streak of one, or after travel westwards the first that is not settled yet: what is settled stays.
    func nextUnsettled(at instant: Instant) -> CalendarDate? {
        guard let participant = participants.first else { return nil }
        let zones = participant.zones.made(by: instant)
        var date = zones.date(at: instant)
        while zones.end(of: date) <= instant { date = date.advanced(by: 1) }
        return date
    }

    /// The date of a streak of one.
    private func today(at now: Instant) -> CalendarDate? { participants.first?.zones.date(at: now) }
}
