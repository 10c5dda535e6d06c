internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksDomain
internal import Wire

/// The one way a streak changes: a command on its locked ledger, the new state on its row, what is to be told in the outbox (SD-5).
struct StreakKeeper: Sendable {
    let streaks: StreakRepository
    static let policy = StreakPolicy.mutual
    /// Dates that a ledger is loaded with, at most, before its checkpoint moves on.
    private static let mostDates = 35

    /// Settles what is due, does what the command says, stores the result and tells it. The streak must be locked by `work`.
    ///
    /// - Throws: the domain's refusal; then nothing was changed.
    func apply(
        _ command: StreakCommand,
        to stored: StoredStreak,
        newPhotos: Int = 0,
        _ work: UnitOfWork
    ) async throws -> StreakChange {
        // Replicas' clocks differ a little; a streak's time never goes back.
        let now = max(work.now, stored.row.lookedAt)
        var isReloaded = stored.isCheckpointStale
        let change: StreakChange
        do throws(ServiceError) {
            change = try stored.ledger.applying(command, Self.policy, at: now, lastLook: stored.row.lookedAt)
        } catch {
            guard error == .ledgerTooShort else { throw error }
            isReloaded = true
            let whole = try await streaks.whole(stored.row, work.sql).ledger
            change = try whole.applying(command, Self.policy, at: now, lastLook: stored.row.lookedAt)
        }
        var posted: (user: UserID, date: CalendarDate)?
        if case .contribute(let user, _, _) = command, let date = change.creditedTo { posted = (user, date) }
        try await streaks.save(
            stored.row,
            change.state,
            endedAt: change.ledger.endedAt,
            posted: posted,
            newPhotos: newPhotos,
            work.sql
        )
        if change.state.status == .active, stored.row.status != .active {
            try await MomentRepository.wake([stored.row.userA, stored.row.userB], now: now, work.sql)
        }
        try await keepCheckpoint(of: stored.row.id, change.ledger, isReloaded: isReloaded, now: now, work)
        try await work.emit(try await events(of: change, stored.row, work))
        try await Achievements.follow(change, of: stored.row, work)
        return change
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
                if let event = Self.event(effect, row, change.state) { events.append(event) }
            }
        }
        return events
    }

    /// Moves the checkpoint on once a month's dates lie behind it. A ledger that had to be loaded whole replaces it: what happened lies
    /// before the old one.
    private func keepCheckpoint(of id: StreakID, _ ledger: StreakLedger, isReloaded: Bool, now: Instant, _ work: UnitOfWork)
        async throws
    {
        let age = ledger.base.settledThrough.distance(to: Zone.utc.date(at: now))
        let short = age >= Self.mostDates ? ledger.compacted(Self.policy, at: now) : ledger
        if short.base != ledger.base {
            try await CheckpointRepository.store(short.base, of: id, work.sql)
        } else if isReloaded {
            try await CheckpointRepository.delete(of: [id], work.sql)
        }
    }

    /// Settles and stores; for streaks whose date is due.
    func settle(_ stored: StoredStreak, _ work: UnitOfWork) async throws -> StreakChange {
        let change = try await apply(.look, to: stored, work)
        if change.before.status != change.state.status { try await refreshStats([stored.row.userA, stored.row.userB], work) }
        return change
    }

    /// Tells the new totals of these people, in the order of their ids so that no two transactions wait for each other.
    func refreshStats(_ users: some Sequence<UserID>, _ work: UnitOfWork) async throws {
        for user in Set(users).sorted() {
            try await work.emit(try await StatsRepository.refresh(user, work.sql))
        }
    }

    /// What others are told of an effect; nil for those that `SnapCounted` tells already.
    static func event(_ effect: StreakEffect, _ row: StreakRow, _ state: StreakState) -> (any Event)? {
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
                brokenAt: at
            )
        case .restored:
            return StreakRestored(streakID: id, userAID: a, userBID: b, count: Int32(state.count), restoredAt: state.asOf)
        case .ended(let at):
            return StreakEnded(streakID: id, userAID: a, userBID: b, endedAt: at)
        case .completed, .freezeSpent, .freezeReturned, .freezeEarned, .recovered, .tokenReturned:
            return nil
        }
    }
}
