public import Kernel

extension StreakState {
    /// The date a recovery token would be for: the missed one, or the open one; nil when there is neither.
    public var dateToRecover: CalendarDate? { status == .broken ? missedDate : openDate }
}

/// Whether a recovery token could be used now (RC-2, RC-3).
public enum RecoveryOutlook: Hashable, Sendable {
    /// It would, until then.
    case possible(until: Instant)
    /// It would not.
    case refused(ServiceError)
}

extension StreakLedger {
    /// What `recover` would come to now, without doing it.
    public func recoveryOutlook(by user: UserID, _ policy: StreakPolicy, _ state: StreakState) -> RecoveryOutlook {
        var copy = self
        do { try copy.recover(user, receivedAt: state.asOf, policy, state) } catch { return .refused(error) }
        let breakEnd = policy.recovery.flatMap { rule in state.brokenAt.map { $0 + rule.window } }
        return .possible(until: breakEnd ?? state.deadlineAt ?? state.asOf)
    }

    /// RC-2 and RC-3.
    ///
    /// - Parameter receivedAt: when the user asked for it; decides whether that was in time, also when a crash delayed the rest.
    mutating func recover(_ user: UserID, receivedAt: Instant, _ policy: StreakPolicy, _ state: StreakState)
        throws(ServiceError)
    {
        guard participant(user) != nil else { throw .notAMember }
        guard let rule = policy.recovery else { throw .notBroken }
        let now = state.asOf
        if state.status == .broken, let missed = state.missedDate, let brokenAt = state.brokenAt {
            guard brokenOff == nil else { throw .recoveryExpired }
            guard state.tokensInUse == 0 else { throw .recoveryUsed }
            guard receivedAt <= brokenAt + rule.window else { throw .recoveryExpired }
            // The date of the restoring is covered too: it must not be lost for lack of time (RC-2).
            let today = participants.map { $0.zones.date(at: now) }.max() ?? missed
            recoveries.append(Recovery(kind: .token, user: user, at: now, from: missed, through: max(missed, today)))
            return
        }
        // When both members ask at once, the second is refused because the first has done it.
        guard !isTodayCovered(at: now) else { throw .recoveryUsed }
        // A token would be wasted while the count is 0 (SD-8).
        guard state.status == .active, state.count > 0, let date = state.openDate, let deadline = state.deadlineAt,
            now > deadline - policy.riskSpan
        else { throw .notBroken }
        guard state.tokensInUse == 0 else { throw .recoveryUsed }
        guard state.isAtRisk else { throw .notBroken }
        recoveries.append(Recovery(kind: .token, user: user, at: now, from: date, through: date))
    }

    /// Whether a token keeps a date that a member's clock shows.
    private func isTodayCovered(at now: Instant) -> Bool {
        guard endedAt == nil else { return false }
        return participants.map { $0.zones.date(at: now) }.contains { date in
            recoveries.contains { $0.kind == .token && $0.covers(date...date, known: now) }
        }
    }
}
