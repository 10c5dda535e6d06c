internal import Kernel
internal import StreaksAPI
internal import StreaksDomain
internal import Wire

/// Makes the event of an effect.
struct SoloEvent {
    private let streak: SoloStreak
    private let change: PlannedChange
    private var state: StreakState { change.change.state }
    /// When the next date that must be done is over; nil while nothing can break.
    private var deadline: Instant? { state.status == .active && state.count > 0 ? state.deadlineAt : nil }

    init(_ streak: SoloStreak, _ change: PlannedChange) { (self.streak, self.change) = (streak, change) }

    /// nil for what other events say already, and for what streaks of one person do not have.
    func event(_ effect: StreakEffect) -> (any Event)? {
        let (id, user, kind) = (streak.id, streak.user, streak.kind)
        switch effect {
        case .completed(let date, let count, let run): return extended(date, count, run, via: .contribution)
        case .filled(let date, let count, _): return extended(date, count, run(of: date), via: .fill)
        case .milestone(let count, let date, _, let isFirst):
            return SoloMilestoneReached(
                streakID: id,
                userID: user,
                kind: kind,
                date: date,
                count: Int32(count),
                firstTime: isFirst,
                at: state.asOf,
                rewardsClaimed: isFirst ? MilestoneRewards(of: count, change.row.kind) : nil
            )
        case .broken(let date, let at, _, let count): return broken(date, at, count)
        case .restored(let date): return restored(date)
        case .protectionSpent(let date, let protection, let operation):
            return ProtectionUsed(
                streakID: id,
                userID: user,
                kind: kind,
                protection: ProtectionKind(protection),
                date: date,
                operationID: operation,
                at: state.asOf,
                count: Int32(state.count)
            )
        case .protectionReturned(let date, let protection, let operation):
            return ProtectionReturned(
                streakID: id,
                userID: user,
                kind: kind,
                protection: ProtectionKind(protection),
                date: date,
                operationID: operation,
                at: state.asOf
            )
        case .paused(let from, let until, let at):
            return StreakPaused(streakID: id, userID: user, kind: kind, fromDate: from, untilDate: until, at: at)
        case .pauseEnded(let date, _):
            return PauseEnded(streakID: id, userID: user, kind: kind, untilDate: date, at: state.asOf)
        case .ended(let at): return SoloStreakEnded(streakID: id, userID: user, kind: kind, at: at)
        default: return nil
        }
    }

    /// The events of the freezes: a frozen date extends the streak besides.
    func freezeEvents(_ effect: StreakEffect) -> [any Event] {
        let (id, user, kind) = (streak.id, streak.user, streak.kind)
        switch effect {
        case .freezeSpent(let date, let count, let left, let byHand):
            let used = FreezeUsed(
                streakID: id,
                userID: user,
                kind: kind,
                date: date,
                freezesLeft: Int32(left),
                byHand: byHand,
                count: Int32(count),
                at: state.asOf,
                deadlineAt: deadline
            )
            return [used, extended(date, count, run(of: date), via: .freeze)]
        case .freezeReturned(let date):
            return [
                FreezeReturned(
                    streakID: id,
                    userID: user,
                    kind: kind,
                    date: date,
                    freezesLeft: Int32(state.freezesLeft),
                    at: state.asOf,
                    byHand: wasByHand(date)
                )
            ]
        case .freezeEarned(let count, let date, _, _, _, let granted) where granted > 0:
            return [
                FreezeEarned(
                    streakID: id,
                    userID: user,
                    kind: kind,
                    date: date,
                    count: Int32(count),
                    freezes: Int32(granted),
                    freezesLeft: Int32(state.freezesLeft),
                    at: state.asOf
                )
            ]
        default: return []
        }
    }

    private func extended(_ date: CalendarDate, _ count: Int, _ run: CalendarDate, via: ExtendedVia) -> SoloStreakExtended {
        SoloStreakExtended(
            streakID: streak.id,
            userID: streak.user,
            kind: streak.kind,
            date: date,
            count: Int32(count),
            longest: Int32(max(state.longest, count)),
            runStart: min(run, date),
            via: via,
            at: state.asOf,
            replaces: via == .contribution ? replaced(on: date) : .unspecified,
            receivedAt: via == .contribution ? received(for: date) : nil,
            deadlineAt: deadline
        )
    }

    /// The first date of the run that a date without a contribution belongs to: the fold's present run may be a later one, or over, when
    /// several dates are settled at once.
    private func run(of date: CalendarDate) -> CalendarDate {
        var start = change.change.ledger.base.runStart
        for effect in state.log {
            switch effect {
            case .completed(let day, _, let run) where day <= date: start = run
            case .broken(let day, _, _, _) where day < date: start = nil
            default: break
            }
        }
        return start ?? date
    }

    /// When the activity of a date was received.
    private func received(for date: CalendarDate) -> Instant? {
        change.change.ledger.contributions[date]?.first { $0.user == streak.user }?.receivedAt
    }

    /// What came back in this change because of an activity for the date.
    private func replaced(on date: CalendarDate) -> ExtendedVia {
        for effect in change.change.effects {
            switch effect {
            case .coverReturned(date, .fill, _, _, _): return .fill
            case .freezeReturned(date): return .freeze
            default: break
            }
        }
        return .unspecified
    }

    /// Whether a freeze that came back had been spent by hand.
    private func wasByHand(_ date: CalendarDate) -> Bool {
        (change.change.before.log + change.change.effects).contains { effect in
            if case .freezeSpent(date, _, _, byHand: true) = effect { true } else { false }
        }
    }

    private func broken(_ date: CalendarDate, _ at: Instant, _ count: Int) -> SoloStreakBroken {
        SoloStreakBroken(
            streakID: streak.id,
            userID: streak.user,
            kind: streak.kind,
            count: Int32(count),
            missedDate: date,
            brokenAt: at,
            reason: change.change.ledger.isBreakOff(at: at) ? .moderation : .missed,
            repairableUntil: change.change.ledger.repairableUntil(
                breakAt: at,
                count: count,
                StreakPolicies.standard.policy(for: change.row.kind),
                at: state.asOf
            )
        )
    }

    private func restored(_ date: CalendarDate) -> SoloStreakRestored {
        SoloStreakRestored(
            streakID: streak.id,
            userID: streak.user,
            kind: streak.kind,
            count: Int32(state.count),
            missedDate: date,
            reason: reason(of: date),
            at: state.asOf,
            deadlineAt: deadline
        )
    }

    /// What undid the break of a date: what else this change brought says it.
    private func reason(of date: CalendarDate) -> SoloReason {
        for effect in change.change.effects {
            switch effect {
            case .repaired(let from, let through, _, _, _) where from <= date && date <= max(from, through): return .repair
            case .filled(date, _, _): return .fill
            case .freezeSpent(date, _, _, _): return .freeze
            default: break
            }
        }
        return .lateOrOutage
    }
}

extension MilestoneRewards {
    /// nil for a count that brings nothing.
    fileprivate init?(of count: Int, _ kind: StreakKind) {
        if kind == .checkIn, let reached = CelebratedCheckIn.of(count) {
            self.init(
                xp: Int32(reached.xp),
                coins: Int32(reached.coins),
                freezes: Int32(reached.freezes),
                badges: reached.badges,
                unlocks: reached.unlocks
            )
        } else if kind != .checkIn, let reached = TypedReward(days: count) {
            self.init(xp: Int32(reached.xp), coins: Int32(reached.coins), badges: [reached.badge])
        } else {
            return nil
        }
    }
}

extension ProtectionKind {
    fileprivate init(_ kind: StreakLedger.Protection.Kind) {
        switch kind {
        case .insurance: self = .insurance
        case .shield: self = .shield
        }
    }
}
