package import Database
package import Kernel
package import Outbox
package import StreaksDomain
internal import Wire

/// The one way a streak changes: a command on its locked ledger, the new entries and the new state on its rows, the events in the outbox
/// (SD-5, D15).
///
/// However many change at once: what becomes of each is computed first (`PlannedChange`), then each kind of row is written by one
/// statement for all of them.
package struct StreakWriter: Sendable {
    package let store: StreakStore
    private let extensions: StreakExtensions

    /// Writes to the store in the service's schema.
    package init(database: Database, _ extensions: StreakExtensions) {
        store = StreakStore(database: database, policies: extensions.policies)
        self.extensions = extensions
    }

    /// The rules of a kind.
    package func policy(for kind: StreakKind) -> StreakPolicy { store.policies.policy(for: kind) }

    /// A streak that is about to begin.
    package struct NewStreak: Sendable {
        package let kind: StreakKind
        package let members: [UserID]
        /// What there can be one of at a time until it ends; nil: any number.
        package let key: String?
        /// Freezes in hand from the start.
        package var freezes = 0

        package init(_ kind: StreakKind, of members: [UserID], key: String?, freezes: Int = 0) {
            (self.kind, self.members, self.key, self.freezes) = (kind, members, key, freezes)
        }
    }

    /// Starts a streak with count 0 from now on. The zones of its members must be known here.
    ///
    /// - Parameter related: writes rows of the feature's own about the new streak, before its events.
    /// - Throws: `DatabaseError` unique violation when there is one with the same key that has not ended.
    @discardableResult
    package func start(
        _ new: NewStreak,
        _ work: UnitOfWork,
        related: (StreakID) async throws -> Void = { _ in }
    ) async throws -> StreakID {
        let zones = try await ZoneRepository.histories(of: new.members, work.sql)
        let grants = new.freezes > 0 ? [StreakLedger.FreezeGrant(at: work.now, count: new.freezes)] : []
        let ledger = StreakLedger(
            start: work.now,
            participants: new.members.sorted().map { StreakLedger.Participant($0, zones: zones[$0] ?? ZoneHistory(.utc)) },
            freezeGrants: grants
        )
        let id: StreakID = work.ids.make()
        let state = fold(ledger, policy(for: new.kind), at: work.now)
        try await StreakRepository.insert(id, new.kind, key: new.key, state: state, work.sql)
        try await MemberRepository.insert(new.members, into: id, at: work.now, work.sql)
        try await related(id)
        guard let row = try await StreakRepository.find([id], work.sql).first else { throw ServiceError.internal }
        let change = PlannedChange(start: StoredStreak(row: row, ledger: ledger), state, operation: work.ids.make())
        _ = try await LedgerRepository.store([change.entries], work.sql)
        try await work.emit(try extensions.events(of: change))
        for follower in extensions.followers { try await follower.follow([change], .now, work) }
        return id
    }

    /// Settles what is due, does what the command says, stores the result and emits its events. The streak must be locked by `work`.
    ///
    /// - Parameter operation: what asked for it: the id of the contribution or cover that it adds; nil makes one up.
    /// - Throws: the domain's refusal; then nothing was changed.
    @discardableResult
    package func apply(
        _ command: StreakCommand,
        to stored: StoredStreak,
        operation: OperationID? = nil,
        urgency: Urgency = .now,
        _ work: UnitOfWork
    ) async throws -> PlannedChange {
        let planned = try await plan(command, for: stored, operation: operation, work)
        return try await carryOut([planned], urgency, work)[0]
    }

    /// Does the same with several streaks at once. One that refuses leaves the others alone.
    ///
    /// - Parameters:
    ///   - command: for each streak.
    ///   - operation: what asked for it, as in `apply(_:to:)`.
    ///   - isOnTime: of a contribution, whether it came inside its author's window (PW-3).
    /// - Returns: what became of each, in the order of `streaks`.
    package func apply(
        _ command: StreakCommand,
        toEach streaks: [StoredStreak],
        operation: OperationID? = nil,
        isOnTime: Bool? = nil,
        _ work: UnitOfWork
    ) async throws -> [Result<PlannedChange, ServiceError>] {
        var outcomes: [Result<PlannedChange, ServiceError>] = []
        for stored in streaks {
            do {
                var planned = try await plan(command, for: stored, operation: operation, work)
                planned.isOnTime = isOnTime
                outcomes.append(.success(planned))
            } catch let refusal as ServiceError where refusal.code != .internal {
                outcomes.append(.failure(refusal))
            }
        }
        var written = try await carryOut(outcomes.compactMap { try? $0.get() }, .now, work)[...]
        return outcomes.map { outcome in
            if case .failure = outcome { outcome } else { .success(written.removeFirst()) }
        }
    }

    /// Settles and stores; for streaks whose date is due. They must be locked by `work`.
    @discardableResult
    package func settle(_ due: [StoredStreak], urgency: Urgency = .now, _ work: UnitOfWork) async throws -> [PlannedChange] {
        var changes: [PlannedChange] = []
        var slice = TimeSlice()
        for stored in due {
            changes.append(try await plan(.settle, for: stored, operation: nil, work))
            await slice.yieldIfOver()
        }
        return try await carryOut(changes, urgency, work)
    }

    /// A user's clock or window hour may be another; call it after their streaks have been settled.
    func clockChanged(of user: UserID, _ work: UnitOfWork) async throws {
        for follower in extensions.followers { try await follower.clockChanged(of: user, work) }
    }

    /// What becomes of a streak. A ledger that does not reach far enough back is loaded whole.
    private func plan(
        _ command: StreakCommand,
        for stored: StoredStreak,
        operation: OperationID?,
        _ work: UnitOfWork
    ) async throws -> PlannedChange {
        let policy = policy(for: stored.row.kind)
        let operation = operation ?? work.ids.make()
        do throws(ServiceError) {
            return try PlannedChange(command, of: stored, policy, operation: operation, at: work.now)
        } catch {
            guard error == .ledgerTooShort else { throw error }
            let whole = try await store.whole(stored.row, work.sql)
            return try PlannedChange(command, of: whole, policy, operation: operation, isReloaded: true, at: work.now)
        }
    }

    /// Writes changes and emits their events, those of one streak in the order they happened.
    private func carryOut(_ planned: [PlannedChange], _ urgency: Urgency, _ work: UnitOfWork) async throws -> [PlannedChange] {
        guard !planned.isEmpty else { return [] }
        var changes = planned
        try await StreakRepository.save(changes, work.sql)
        let entries = changes.map(\.entries).filter { !$0.isEmpty }
        if !entries.isEmpty {
            let returned = try await LedgerRepository.store(entries, work.sql)
            for (cover, operation) in returned {
                for index in changes.indices where changes[index].row.id == cover.streak {
                    changes[index].returned[cover.usedAt] = operation
                }
            }
        }
        let brokenOff = changes.compactMap { change in
            change.row.brokenOff == nil ? change.change.ledger.brokenOff.map { (change.row.id, $0) } : nil
        }
        try await StreakRepository.store(brokenOff, work.sql)
        try await CheckpointRepository.store(
            changes.compactMap { change in change.newCheckpoint.map { (change.row.id, $0) } },
            work.sql
        )
        try await CheckpointRepository.delete(of: changes.filter(\.dropsCheckpoint).map(\.row.id), work.sql)
        var events: [any Event] = []
        var slice = TimeSlice()
        for change in changes {
            events += try extensions.events(of: change)
            await slice.yieldIfOver()
        }
        try await work.emit(events)
        for follower in extensions.followers { try await follower.follow(changes, urgency, work) }
        return changes
    }
}
