import Kernel

extension StreakLedger {
    /// RC-2 and RC-3.
    mutating func recover(_ user: UserID, _ policy: StreakPolicy, _ state: StreakState) throws(ServiceError) {
        guard participant(user) != nil else { throw .notAMember }
        guard let rule = policy.recovery else { throw .notBroken }
        let now = state.asOf
        if state.status == .broken, let missed = state.missedDate, let brokenAt = state.brokenAt {
            guard brokenOff == nil else { throw .recoveryExpired }
            guard state.tokensInUse == 0 else { throw .recoveryUsed }
            guard now <= brokenAt + rule.window else { throw .recoveryExpired }
            // The date of the restoring is covered too: it must not be lost for lack of time (RC-2).
            let today = participants.map { $0.zones.date(at: now) }.max() ?? missed
            recoveries.append(Recovery(kind: .token, user: user, at: now, from: missed, through: max(missed, today)))
            return
        }
        // A token would be wasted while the count is 0 (SD-8).
        guard state.status == .active, state.count > 0, let date = state.openDate, let deadline = state.deadlineAt,
            now > deadline - policy.riskSpan
        else { throw .notBroken }
        guard state.tokensInUse == 0 else { throw .recoveryUsed }
        guard state.isAtRisk else { throw .notBroken }
        recoveries.append(Recovery(kind: .token, user: user, at: now, from: date, through: date))
    }
}
