public import Kernel

/// Why a date came to what it came to, as the fold judged it (SD-4).
public enum DayReason: Hashable, Sendable {
    /// So many contributed of the members of the date, and so many were needed. Of a habit both are 1.
    case completed(posted: Int, needed: Int)
    /// Not over yet for everyone, and not complete.
    case open
    /// Over, and lives on until then (TS-4).
    case grace(until: Instant)
    case nothingAtStake
    /// It broke the streak, which had this count; `isDecision`: by a moderator's decision, not by a miss (SO-9).
    case missed(by: UserID?, count: Int, isDecision: Bool)
    case frozen(byHand: Bool)
    /// By a recovery of any kind but `fill`.
    case covered(StreakLedger.Recovery)
    case filled
    case protected(StreakLedger.Protection.Kind)
    /// One of the month's free dates (TS-3).
    case free
    case paused
    case archived
    case skipped
    case notScheduled
    case outage
    case hardlySeen
    /// A team with too few members (TS-4).
    case tooFewMembers
    /// A week that the start or a change of the habit cut (HA-10).
    case cutWeek
    /// A date of a week that is judged as a whole, on its last date.
    case partOfWeek(ending: CalendarDate)
}

/// A fold with the reason for each of its dates.
public struct Explanation: Sendable {
    public let state: StreakState
    /// Of every date that was judged or has contributions.
    public let reasons: [CalendarDate: DayReason]
}

/// Folds a ledger as `fold` does, in the same pass, and says of each date why it came to what it came to.
public func explain(_ ledger: StreakLedger, _ policy: StreakPolicy, at now: Instant) -> Explanation {
    let pass = FoldPass(ledger, policy, now: now)
    pass.run()
    let state = pass.state()
    return Explanation(state: state, reasons: pass.reasons(of: state))
}

extension FoldPass {
    /// The reasons for the marks of a pass that is done: the causes are asked for with the predicates that the verdict used.
    func reasons(of state: StreakState) -> [CalendarDate: DayReason] {
        let effects = state.effectsByDate
        var reasons: [CalendarDate: DayReason] = [:]
        for (date, mark) in state.days { reasons[date] = reason(mark, calendar.slot(of: date), effects[date] ?? []) }
        for date in ledger.contributions.keys where reasons[date] == nil {
            let slot = calendar.slot(of: date)
            if slot.count > 1, slot.upperBound != date {
                reasons[date] = .partOfWeek(ending: slot.upperBound)
            } else {
                reasons[date] = calendar.includes(date) ? .nothingAtStake : .notScheduled
            }
        }
        return reasons
    }

    private func reason(_ mark: StreakState.Mark, _ slot: Slot, _ effects: [StreakEffect]) -> DayReason {
        let date = slot.upperBound
        switch mark {
        case .complete: return completion(slot)
        case .open:
            guard end(of: slot) <= now else { return .open }
            return effects.lazy.compactMap(\.graceEnd).first.map { .grace(until: $0) } ?? .open
        case .none: return .nothingAtStake
        case .missed:
            for case .broken(_, let at, let user, let count) in effects {
                return .missed(by: user, count: count, isDecision: ledger.isBreakOff(at: at))
            }
            return .missed(by: nil, count: 0, isDecision: false)
        case .frozen: return .frozen(byHand: isFrozenByHand(slot, known: now))
        case .filled: return .filled
        case .covered:
            for case .protectionSpent(_, let kind, _) in effects { return .protected(kind) }
            return cover(slot, known: now).map { .covered($0) } ?? excuse(slot)
        case .neutral:
            let isFree = effects.contains { if case .freeDateUsed(date, _) = $0 { true } else { false } }
            return isFree ? .free : excuse(slot)
        }
    }

    private func completion(_ slot: Slot) -> DayReason {
        guard policy.habits == nil else { return .completed(posted: 1, needed: 1) }
        let date = slot.upperBound
        let members = self.members(date)
        let posted = members.count { ledger.hasContributed($0.user, on: date, known: now) }
        return .completed(posted: posted, needed: needed(of: members.count))
    }

    /// Why nothing was expected of a slot: the cause of its first date that was excused.
    private func excuse(_ slot: Slot) -> DayReason {
        guard slot.contains(where: calendar.includes) else { return .notScheduled }
        if calendar.isCut(slot) { return .cutWeek }
        let over = end(of: slot)
        let excused = slot.first { calendar.includes($0) && isNeutral($0, over, known: now) }
        return cause(excused ?? slot.upperBound, over)
    }

    private func cause(_ date: CalendarDate, _ over: Instant) -> DayReason {
        if let habit = ledger.habit {
            if habit.isArchived(date) { return .archived }
            if habit.skips.contains(date) { return .skipped }
        }
        if isPaused(date, known: now) { return .paused }
        let members = self.members(date)
        if case .share(_, let atLeast) = policy.quorum, members.count < atLeast { return .tooFewMembers }
        let outages = ledger.outages.filter { $0.declaredAt <= now }.compactMap { Span($0.from, $0.until) }
        let isLost = members.contains { member in
            Span.overlap(of: member.zones.spans(showing: date, before: over), with: outages) > policy.outageLoss
        }
        return isLost ? .outage : .hardlySeen
    }
}

extension StreakState {
    /// What is noteworthy since the checkpoint, by the dates that it is about.
    public var effectsByDate: [CalendarDate: [StreakEffect]] {
        log.reduce(into: [:]) { effects, effect in
            if let date = effect.date { effects[date, default: []].append(effect) }
        }
    }
}

extension StreakEffect {
    /// The date that it is about; nil when it is about none.
    public var date: CalendarDate? {
        switch self {
        case .completed(let date, _, _), .milestone(_, let date, _, _), .tokenEarned(_, let date, _), .broken(let date, _, _, _),
            .restored(let date), .freezeSpent(let date, _, _, _), .freezeReturned(let date),
            .freezeEarned(_, let date, _, _, _, _), .freeDateUsed(let date, _), .freeDateReturned(let date),
            .recovered(let date, _, _, _), .tokenReturned(let date, _, _), .repaired(let date, _, _, _, _),
            .filled(let date, _, _), .coverReturned(let date, _, _, _, _), .protectionSpent(let date, _, _),
            .protectionReturned(let date, _, _), .paused(let date, _, _), .pauseEnded(let date, _), .graceStarted(let date, _):
            date
        case .ended: nil
        }
    }

    /// When the grace ends that it begins.
    fileprivate var graceEnd: Instant? {
        if case .graceStarted(_, let until) = self { until } else { nil }
    }
}
