public import Kernel

/// Whether a repair could be done now (CI-3).
public enum RepairOutlook: Hashable, Sendable {
    /// It would restore the count of this break, until then.
    case possible(StreakState.Break, until: Instant)
    /// It would not.
    case refused(ServiceError)
}

extension StreakLedger {
    /// What `repair` would come to now, without doing it: ask before anything is paid.
    public func repairOutlook(by user: UserID, receivedAt: Instant? = nil, _ policy: StreakPolicy, _ state: StreakState)
        -> RepairOutlook
    {
        do {
            let broken = try repairable(by: user, receivedAt: receivedAt ?? state.asOf, policy, state)
            return .possible(broken, until: broken.at + (policy.repair?.window ?? .zero))
        } catch { return .refused(error) }
    }

    /// Until when a break can be repaired, as known now; nil when it cannot be: too short a run, broken off, or too soon after another repair.
    public func repairableUntil(breakAt: Instant, count: Int, _ policy: StreakPolicy, at now: Instant) -> Instant? {
        guard let rule = policy.repair, count >= rule.minimum, !isBreakOff(at: breakAt) else { return nil }
        if let last = lastRepair(by: now), max(now, breakAt) < last + rule.cooldown { return nil }
        let end = breakAt + rule.window
        return now <= end ? end : nil
    }

    /// When the last repair that did not come back was used; with `StreakPolicy.Repair.cooldown` it says when the next may be.
    public func lastRepair(by now: Instant) -> Instant? {
        recoveries.last { $0.kind == .repair && $0.at <= now && !$0.isReturned(by: now) }?.at
    }

    private func repairable(by user: UserID, receivedAt: Instant, _ policy: StreakPolicy, _ state: StreakState)
        throws(ServiceError) -> StreakState.Break
    {
        guard participant(user) != nil else { throw .notAMember }
        guard let rule = policy.repair, endedAt == nil, let broken = state.lastBreak else { throw .notBroken }
        guard broken.count >= rule.minimum else {
            throw ServiceError(.failedPrecondition, "STREAK_TOO_SHORT", "A streak must be \(rule.minimum)+ days to repair.")
        }
        guard receivedAt <= broken.at + rule.window else {
            throw ServiceError(.failedPrecondition, "REPAIR_WINDOW_EXPIRED", "The time to repair this streak is over.")
        }
        if let last = lastRepair(by: state.asOf), receivedAt < last + rule.cooldown {
            throw ServiceError(.failedPrecondition, "REPAIR_COOLDOWN_ACTIVE", "A streak can be repaired once every 30 days.")
        }
        return broken
    }

    /// CI-3.
    mutating func repair(
        _ user: UserID,
        receivedAt: Instant,
        _ id: OperationID,
        _ policy: StreakPolicy,
        _ state: StreakState
    ) throws(ServiceError) {
        guard !recoveries.contains(where: { $0.id == id }) else { return }
        let broken = try repairable(by: user, receivedAt: receivedAt, policy, state)
        guard broken.date > base.settledThrough else { throw .ledgerTooShort }
        let now = state.asOf
        // The date of the restoring is covered too: it must not be lost for lack of time (RC-2).
        let today = participants.map { $0.zones.newestDate(by: now) }.max() ?? broken.date
        recoveries.append(
            Recovery(kind: .repair, user: user, at: now, from: broken.date, through: max(broken.date, today), id: id)
        )
    }

    /// TS-3.
    mutating func fill(_ date: CalendarDate, _ user: UserID, _ id: OperationID, _ policy: StreakPolicy, _ state: StreakState)
        throws(ServiceError)
    {
        guard !recoveries.contains(where: { $0.id == id }) else { return }
        guard let participant = participant(user) else { throw .notAMember }
        guard let reach = policy.fillReach, endedAt == nil else { throw .notActive }
        let today = participant.zones.date(at: state.asOf)
        guard date < today, date.distance(to: today) <= reach else {
            throw .validation(field: "date", "must be one of the last \(reach) days")
        }
        guard date > base.settledThrough || date < firstDate else { throw .ledgerTooShort }
        guard state.mark(on: date) == .missed else {
            throw ServiceError(.failedPrecondition, "DATE_NOT_MISSED", "No streak was lost on this date.")
        }
        var filled = self
        filled.recoveries.append(Recovery(kind: .fill, user: user, at: state.asOf, from: date, through: date, id: id))
        let after = fold(filled, policy, at: state.asOf)
        guard after.status == .active, let run = after.runStart, run < date, after.count > state.count else {
            throw ServiceError(.failedPrecondition, "RUNS_DO_NOT_JOIN", "Filling this date would not bring the streak back.")
        }
        self = filled
    }
}
