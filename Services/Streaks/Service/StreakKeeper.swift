internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksDomain
internal import Wire

/// The one way a streak changes: a command on its locked ledger, the new state on its row, what is to be told in the outbox (SD-5).
///
/// However many change at once: what becomes of each is computed first (`PlannedChange`), then each kind of row is written by one
/// statement for all of them.
struct StreakKeeper: Sendable {
    /// When the totals of the people of streaks that were settled are told.
    enum Totals {
        /// In this transaction.
        case now
        /// By `SettlementJob`, when nothing waits to be settled any more: breaks are told first.
        case soon
    }

    let streaks: StreakRepository
    static let policy = StreakPolicy.mutual

    /// Settles what is due, does what the command says, stores the result and tells it. The streak must be locked by `work`.
    ///
    /// - Throws: the domain's refusal; then nothing was changed.
    func apply(
        _ command: StreakCommand,
        to stored: StoredStreak,
        newPhotos: Int = 0,
        _ work: UnitOfWork
    ) async throws -> StreakChange {
        let planned = try await plan(command, for: stored, newPhotos: newPhotos, work)
        try await carryOut([planned], work)
        return planned.change
    }

    /// Settles and stores; for streaks whose date is due. They must be locked by `work`.
    @discardableResult
    func settle(_ due: [StoredStreak], totals: Totals = .now, _ work: UnitOfWork) async throws -> [StreakChange] {
        var changes: [PlannedChange] = []
        var slice = TimeSlice()
        for stored in due {
            changes.append(try await plan(.look, for: stored, work))
            await slice.yieldIfOver()
        }
        try await carryOut(changes, work)
        let people = changes.filter { $0.change.before.status != $0.change.state.status }.flatMap {
            [$0.row.userA, $0.row.userB]
        }
        switch totals {
        case .now: try await refreshStats(people, work)
        case .soon: try await StatsRepository.noteStale(people, at: work.now, work.sql)
        }
        return changes.map(\.change)
    }

    /// What becomes of a streak. A ledger that does not reach far enough back is loaded whole.
    private func plan(_ command: StreakCommand, for stored: StoredStreak, newPhotos: Int = 0, _ work: UnitOfWork) async throws
        -> PlannedChange
    {
        do throws(ServiceError) {
            return try PlannedChange(command, of: stored, newPhotos: newPhotos, at: work.now)
        } catch {
            guard error == .ledgerTooShort else { throw error }
            let whole = try await streaks.whole(stored.row, work.sql)
            return try PlannedChange(command, of: whole, isReloaded: true, newPhotos: newPhotos, at: work.now)
        }
    }

    /// Stores changes and tells them, those of one streak in the order they happened.
    private func carryOut(_ changes: [PlannedChange], _ work: UnitOfWork) async throws {
        try await streaks.save(changes.map(\.update), work.sql)
        let woken = Set(changes.filter(\.isRunningAgain).flatMap { [$0.row.userA, $0.row.userB] })
        if let now = changes.lazy.filter(\.isRunningAgain).map(\.now).max() {
            try await MomentRepository.wake(Array(woken), now: now, work.sql)
        }
        try await CheckpointRepository.store(
            changes.compactMap { change in change.newCheckpoint.map { (change.row.id, $0) } },
            work.sql
        )
        try await CheckpointRepository.delete(of: changes.filter(\.dropsCheckpoint).map(\.row.id), work.sql)
        var events: [any Event] = []
        var slice = TimeSlice()
        for change in changes {
            events += try await self.events(of: change.change, change.row, work)
            await slice.yieldIfOver()
        }
        try await work.emit(events)
        try await Achievements.follow(changes, work)
    }

    /// What others are told of a change; a token that is not needed any more is marked so that it comes back once.
    private func events(of change: StreakChange, _ row: StreakRow, _ work: UnitOfWork) async throws -> [any Event] {
        // A break that a token undoes is told as a recovery, not as a restoration besides.
        let recovered = change.effects.compactMap { effect -> CalendarDate? in
            if case .recovered(let date, _, _, _) = effect { return date }
            return nil
        }
        var events: [any Event] = []
        for effect in change.effects {
            switch effect {
            case .restored(let date) where recovered.contains(date): break
            case .recovered(let date, let through, let user, let at):
                events.append(
                    StreakRecovered(
                        streakID: row.id.description,
                        userAID: row.userA.description,
                        userBID: row.userB.description,
                        recoveredByUserID: user?.description ?? "",
                        count: Int32(change.state.count),
                        fromDate: date.description,
                        throughDate: through.description,
                        inAdvance: !change.effects.contains(.restored(date: date)),
                        recoveredAt: at
                    )
                )
            case .tokenReturned(let date, let user, let usedAt):
                let now = change.state.asOf
                let operation = try await RecoveryRepository.markReturned(row.id, usedAt: usedAt, at: now, work.sql)
                events.append(
                    RecoveryTokenReturned(
                        streakID: row.id.description,
                        userID: user?.description ?? "",
                        operationID: operation.description,
                        date: date.description,
                        returnedAt: now
                    )
                )
            default:
                if let event = Self.event(effect, row, change) { events.append(event) }
            }
        }
        return events
    }

    /// Tells the new totals of these people.
    func refreshStats(_ users: some Sequence<UserID>, _ work: UnitOfWork) async throws {
        try await work.emit(try await StatsRepository.refresh(users, work.sql))
    }

    /// What others are told of an effect; nil for those that `SnapCounted` tells already.
    static func event(_ effect: StreakEffect, _ row: StreakRow, _ change: StreakChange) -> (any Event)? {
        let (id, a, b) = (row.id.description, row.userA.description, row.userB.description)
        switch effect {
        case .milestone(let count, let date, _):
            return MilestoneReached(
                streakID: id,
                userAID: a,
                userBID: b,
                count: Int32(count),
                date: date.description,
                earnsToken: policy.recovery.map { count % $0.earnedEvery == 0 } ?? false
            )
        case .tokenEarned(let count, _, let run):
            return RecoveryTokenEarned(streakID: id, userAID: a, userBID: b, count: Int32(count), runStart: run.description)
        case .broken(let date, let at, let by, let count):
            return StreakBroken(
                streakID: id,
                userAID: a,
                userBID: b,
                count: Int32(count),
                brokenByUserID: by?.description ?? "",
                missedDate: date.description,
                brokenAt: at,
                isFinal: change.ledger.brokenOff?.at == at
            )
        case .restored:
            return StreakRestored(
                streakID: id,
                userAID: a,
                userBID: b,
                count: Int32(change.state.count),
                restoredAt: change.state.asOf
            )
        case .ended(let at):
            return StreakEnded(streakID: id, userAID: a, userBID: b, endedAt: at)
        case .completed, .freezeSpent, .freezeReturned, .freezeEarned, .recovered, .tokenReturned:
            return nil
        }
    }
}
