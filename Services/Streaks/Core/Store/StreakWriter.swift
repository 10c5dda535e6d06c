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
    /// When a shield that was bought begins to protect.
    package let boughtShield: BoughtShield
    private let extensions: StreakExtensions

    /// Writes to the store in the service's schema.
    package init(database: Database, _ extensions: StreakExtensions, boughtShield: BoughtShield = .armed) {
        store = StreakStore(database: database, policies: extensions.policies)
        (self.extensions, self.boughtShield) = (extensions, boughtShield)
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
        /// What it begins with, which may have been a while ago: it begins then, so that the activity counts. nil: it begins now.
        package var first: FirstActivity?
        /// Of a habit: its schedule, and of a restored one what its ledger has besides completions.
        package var habit: HabitEntries?
        /// Of a habit that is restored: its pauses, those that are over too.
        package var pauses: [StreakLedger.Pause] = []
        /// Of a habit that is restored: when it began.
        package var startedAt: Instant?
        /// Of a habit: on whose behalf it begins.
        package var origin: HabitOrigin?

        package init(_ kind: StreakKind, of members: [UserID], key: String?, freezes: Int = 0) {
            (self.kind, self.members, self.key, self.freezes) = (kind, members, key, freezes)
        }
    }

    /// The activity that a streak begins with.
    package struct FirstActivity: Sendable {
        let receivedAt: Instant
        let date: CalendarDate?
        let capturedAt: Instant?

        /// - Parameters:
        ///   - date: what it is credited to, when that is known and not the date of its receipt.
        ///   - capturedAt: when it happened by the client's clock: it is credited to the date that this claims (SD-2).
        package init(receivedAt: Instant, date: CalendarDate? = nil, capturedAt: Instant? = nil) {
            (self.receivedAt, self.date, self.capturedAt) = (receivedAt, date, capturedAt)
        }

        /// An instant of its date by the author's clock.
        package func beginning(_ zones: ZoneHistory, _ policy: StreakPolicy) -> Instant {
            let credited = self.credited(zones, policy)
            return credited < zones.date(at: receivedAt) ? zones.end(of: credited) - .seconds(1) : receivedAt
        }

        /// What counts as its receipt in a streak that has begun: one that is credited to the date before the first is what the streak
        /// would have begun with, and the start moves back to it. Any other was received when it was.
        package func received(in ledger: StreakLedger, by zones: ZoneHistory, _ policy: StreakPolicy) -> Instant {
            credited(zones, policy).advanced(by: 1) == ledger.firstDate ? beginning(zones, policy) : receivedAt
        }

        /// The date that it counts for.
        private func credited(_ zones: ZoneHistory, _ policy: StreakPolicy) -> CalendarDate {
            date ?? zones.dateClaimed(receivedAt: receivedAt, capturedAt: capturedAt, policy)
        }
    }

    /// Starts a streak with count 0, from now on or from the receipt of its first activity. The zones of its members must be known here.
    ///
    /// - Parameter related: writes rows of the feature's own about the new streak, before its events.
    /// - Throws: `DatabaseError` serialization failure when there is one with the same key that has not ended: what looked for it and did not
    ///   find it is run again, and finds it.
    @discardableResult
    package func start(
        _ new: NewStreak,
        _ work: UnitOfWork,
        related: (StreakID) async throws -> Void = { _ in }
    ) async throws -> StreakID {
        let zones = try await ZoneRepository.histories(of: new.members, work.sql)
        let plans = policy(for: new.kind).asksForPlans ? try await PlanRepository.histories(of: new.members, work.sql) : [:]
        let begin = new.first?.beginning(new.members.first.flatMap { zones[$0] } ?? ZoneHistory(.utc), policy(for: new.kind))
        let start = min(work.now, begin ?? new.startedAt ?? work.now)
        let grants = new.freezes > 0 ? [StreakLedger.FreezeGrant(at: start, count: new.freezes)] : []
        let ledger = StreakLedger(
            start: start,
            participants: new.members.sorted().map { user in
                StreakLedger.Participant(user, zones: zones[user] ?? ZoneHistory(.utc), plans: plans[user] ?? PlanHistory())
            },
            pauses: new.pauses,
            freezeGrants: grants,
            habit: new.habit
        )
        let id: StreakID = work.ids.make()
        let state = fold(ledger, policy(for: new.kind), at: start)
        try await StreakRepository.insert(id, new.kind, key: new.key, state: state, work.sql)
        try MemberRepository.insert(new.members, into: id, at: start, work.sql)
        try await related(id)
        guard let row = try await StreakRepository.find([id], work.sql).first else { throw ServiceError.internal }
        var change = PlannedChange(start: StoredStreak(row: row, ledger: ledger), state, operation: work.ids.make())
        if new.kind.isSolo, let user = new.members.first {
            change.userLevel = try await XPLedger.account(of: user, work.sql).level
        }
        if let habit = new.habit { change.entries.habit = HabitLedgerEntries(start: ledger, habit) }
        change.entries.habit?.origin = new.origin
        _ = try await LedgerRepository.store([change.entries], at: work.now, work.sql)
        try await work.emit(try extensions.events(of: change))
        for follower in extensions.followers { try await follower.follow([change], .now, work) }
        return id
    }

    /// Settles what is due, does what the command says, stores the result and emits its events. The streak must be locked by `work`.
    ///
    /// - Parameters:
    ///   - operation: what asked for it: the id of the contribution or cover that it adds; nil makes one up.
    ///   - origin: of a habit: on whose behalf entries are written.
    ///   - reportsMilestones: of a habit: whether those that are reached are emitted; a restore emits none.
    /// - Throws: the domain's refusal; then nothing was changed.
    @discardableResult
    package func apply(
        _ command: StreakCommand,
        to stored: StoredStreak,
        operation: OperationID? = nil,
        origin: HabitOrigin? = nil,
        reportsMilestones: Bool = true,
        urgency: Urgency = .now,
        _ work: UnitOfWork
    ) async throws -> PlannedChange {
        var planned = try await plan(command, for: stored, operation: operation, work)
        planned.entries.habit?.origin = origin
        planned.reportsMilestones = reportsMilestones
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

    /// What is to be done with a streak.
    package struct Order: Sendable {
        let command: StreakCommand
        let stored: StoredStreak
        let origin: HabitOrigin?
        let reportsMilestones: Bool

        /// As the parameters of `apply(_:to:)`.
        package init(
            _ command: StreakCommand,
            _ stored: StoredStreak,
            origin: HabitOrigin? = nil,
            reportsMilestones: Bool = true
        ) {
            (self.command, self.stored, self.origin) = (command, stored, origin)
            self.reportsMilestones = reportsMilestones
        }
    }

    /// Does something with each of several streaks, by statements for all of them. When one refuses, nothing was changed.
    ///
    /// - Parameter instant: when it is written, if that is later than now: for what is recorded once for all of them.
    /// - Returns: what became of each, in the order of `orders`.
    package func apply(_ orders: [Order], notBefore instant: Instant? = nil, _ work: UnitOfWork) async throws -> [PlannedChange] {
        var changes: [PlannedChange] = []
        var slice = TimeSlice()
        for order in orders {
            var planned = try await plan(order.command, for: order.stored, operation: nil, notBefore: instant, work)
            planned.entries.habit?.origin = order.origin
            planned.reportsMilestones = order.reportsMilestones
            changes.append(planned)
            await slice.yieldIfOver()
        }
        return try await carryOut(changes, .now, work)
    }

    /// Makes a user a member of a team, from the next date on (TS-4); settles what is due first. The streak must be locked by `work`. Nothing
    /// happens when they are one.
    ///
    /// - Throws: `STREAK_NOT_ACTIVE` when it has ended.
    @discardableResult
    package func join(_ user: UserID, _ stored: StoredStreak, _ work: UnitOfWork) async throws -> PlannedChange {
        let zones = try await ZoneRepository.histories(of: [user], work.sql)[user] ?? ZoneHistory(.utc)
        return try await apply(.join(user, zones), to: stored, work)
    }

    /// Takes a member out of a team (TS-4); settles what is due first. The streak must be locked by `work`. Nothing happens when they have
    /// left.
    ///
    /// - Throws: `NOT_A_MEMBER` when they never were one.
    @discardableResult
    package func leave(_ user: UserID, _ stored: StoredStreak, _ work: UnitOfWork) async throws -> PlannedChange {
        try await apply(.leave(user), to: stored, work)
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
        notBefore: Instant? = nil,
        _ work: UnitOfWork
    ) async throws -> PlannedChange {
        let policy = policy(for: stored.row.kind)
        let operation = operation ?? work.ids.make()
        let happened = min(work.now, command.happenedAt ?? work.now)
        let instant = max(happened, notBefore ?? happened)
        do throws(ServiceError) {
            return try PlannedChange(command, of: stored, policy, operation: operation, at: instant)
        } catch {
            guard error == .ledgerTooShort else { throw error }
            let whole = try await store.whole(stored.row, work.sql)
            return try PlannedChange(command, of: whole, policy, operation: operation, isReloaded: true, at: instant)
        }
    }

    /// Writes changes and emits their events, those of one streak in the order they happened.
    private func carryOut(_ planned: [PlannedChange], _ urgency: Urgency, _ work: UnitOfWork) async throws -> [PlannedChange] {
        guard !planned.isEmpty else { return [] }
        var changes = planned
        try StreakRepository.save(changes, work.sql)
        try StreakRepository.moveStarts(
            changes.compactMap { change in
                let start = change.change.ledger.start
                return start < change.row.startedAt ? (change.row.id, start) : nil
            },
            work.sql
        )
        let entries = changes.map(\.entries).filter { !$0.isEmpty }
        if !entries.isEmpty {
            let returned = try await LedgerRepository.store(entries, at: work.now, work.sql)
            for (cover, operation) in returned {
                for index in changes.indices where changes[index].row.id == cover.streak {
                    changes[index].returned[cover.usedAt] = operation
                }
            }
        }
        let brokenOff = changes.compactMap { change in
            change.row.brokenOff == change.change.ledger.brokenOff
                ? nil : change.change.ledger.brokenOff.map { (change.row.id, $0) }
        }
        try StreakRepository.store(brokenOff, work.sql)
        try EndedAccountRepository.mark(changes, work.sql)
        try CheckpointRepository.store(
            changes.compactMap { change in change.newCheckpoint.map { (change.row.id, $0) } },
            work.sql
        )
        try CheckpointRepository.delete(of: changes.filter(\.dropsCheckpoint).map(\.row.id), work.sql)
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
