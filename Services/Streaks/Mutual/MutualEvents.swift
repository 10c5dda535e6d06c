internal import Kernel
internal import Outbox
internal import StreaksAPI
package import StreaksCore
package import StreaksDomain
package import Wire

/// The events of a change of a mutual streak.
package struct MutualEvents: StreakKindEvents {
    package let kind = StreakKind.mutual
    package let feature = "mutual"

    package init() {}

    package func events(of change: PlannedChange) throws -> [any Event] {
        guard let row = MutualRow(change.row) else { throw ServiceError.internal }
        if change.isStart {
            return [StreakStarted(streakID: row.id, userAID: row.a, userBID: row.b, startedAt: change.now)]
        }
        let effects = change.change.effects
        // A break that a token undoes is emitted as a recovery, not as a restoration besides.
        let recovered = effects.compactMap { effect -> CalendarDate? in
            if case .recovered(let date, _, _, _) = effect { return date }
            return nil
        }
        var events = try effects.compactMap { effect -> (any Event)? in
            if case .restored(let date) = effect, recovered.contains(date) { return nil }
            return try event(effect, row, change)
        }
        if let contribution = change.contribution, let partner = change.row.partner(of: contribution.user) {
            let isComplete = change.change.state.mark(on: contribution.date) == .complete
            events.append(
                SnapCounted(
                    streakID: row.id,
                    userID: contribution.user,
                    friendID: partner,
                    date: contribution.date,
                    dateCompleted: isComplete,
                    currentCount: Int32(change.change.state.count),
                    countedAt: change.change.state.asOf,
                    receivedAt: contribution.receivedAt,
                    runStart: isComplete ? change.change.state.runStart : nil,
                    celebrated: isComplete && effects.contains { Self.celebrates($0, contribution.date) }
                )
            )
        }
        return events
    }

    /// Whether an effect is that a date reached a milestone or earned a token.
    private static func celebrates(_ effect: StreakEffect, _ wanted: CalendarDate) -> Bool {
        switch effect {
        case .milestone(_, let date, _, _), .tokenEarned(_, let date, _): date == wanted
        default: false
        }
    }

    /// Until when a token undoes a break, by the rule of the streak's detail; nil: none does.
    private func recoverable(_ brokenAt: Instant, _ row: MutualRow, _ change: PlannedChange) -> Instant? {
        let state = change.change.state
        guard state.status == .broken, state.brokenAt == brokenAt,
            case .possible(let until) = change.change.ledger.recoveryOutlook(by: row.a, .mutual, state)
        else { return nil }
        return until
    }

    private func ended(_ instant: Instant, _ row: MutualRow, _ change: PlannedChange) -> StreakEnded {
        StreakEnded(
            streakID: row.id,
            userAID: row.a,
            userBID: row.b,
            endedAt: instant,
            count: Int32(change.change.endedCount),
            deletedUserID: change.deletedUser
        )
    }

    /// nil for what `SnapCounted` says already, and for what mutual streaks do not have: freezes, and covers that no member paid for.
    private func event(_ effect: StreakEffect, _ row: MutualRow, _ change: PlannedChange) throws -> (any Event)? {
        let state = change.change.state
        switch effect {
        case .milestone(let count, let date, _, _):
            return MilestoneReached(
                streakID: row.id,
                userAID: row.a,
                userBID: row.b,
                count: Int32(count),
                date: date,
                earnsToken: StreakPolicy.mutual.recovery.map { count % $0.earnedEvery == 0 } ?? false
            )
        case .tokenEarned(let count, let date, let run):
            return RecoveryTokenEarned(
                streakID: row.id,
                userAID: row.a,
                userBID: row.b,
                count: Int32(count),
                runStart: run,
                date: date,
                unannounced: !StreakPolicy.mutual.milestones.contains(count)
            )
        case .broken(let date, let at, let by, let count):
            let end = recoverable(at, row, change)
            var broken = StreakBroken(streakID: row.id, userAID: row.a, userBID: row.b, count: Int32(count), missedDate: date)
            (broken.brokenByUserID, broken.brokenAt) = (by, at)
            broken.isFinal = change.change.ledger.brokenOff?.at == at
            (broken.unrecoverable, broken.recoverableUntil) = (end == nil, end)
            return broken
        case .restored(let date):
            return StreakRestored(
                streakID: row.id,
                userAID: row.a,
                userBID: row.b,
                count: Int32(state.count),
                restoredAt: state.asOf,
                missedDate: date
            )
        case .recovered(let date, let through, let user?, let at):
            return StreakRecovered(
                streakID: row.id,
                userAID: row.a,
                userBID: row.b,
                recoveredByUserID: user,
                count: Int32(state.count),
                fromDate: date,
                throughDate: through,
                inAdvance: !change.change.effects.contains(.restored(date: date)),
                recoveredAt: at
            )
        case .tokenReturned(let date, let user?, let usedAt):
            guard let operation = change.returned[usedAt] else { throw ServiceError.internal }
            return RecoveryTokenReturned(
                streakID: row.id,
                userID: user,
                operationID: operation,
                date: date,
                returnedAt: state.asOf
            )
        case .ended(let at): return ended(at, row, change)
        case .completed, .recovered, .tokenReturned: return nil
        // What mutual streaks do not have.
        case .freezeSpent, .freezeReturned, .freezeEarned, .freeDateUsed, .freeDateReturned, .repaired, .filled, .coverReturned,
            .protectionSpent, .protectionReturned, .paused, .pauseEnded, .graceStarted:
            return nil
        }
    }
}

/// A pair's ids as events carry them, the smaller one first.
private struct MutualRow {
    let id: StreakID
    let a: UserID
    let b: UserID

    init?(_ row: StreakRow) {
        guard row.members.count == 2 else { return nil }
        (id, a, b) = (row.id, row.members[0], row.members[1])
    }
}
