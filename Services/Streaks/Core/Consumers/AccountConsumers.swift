internal import AuthAPI
internal import BillingAPI
internal import Database
internal import Kernel
internal import Outbox
internal import Replicas
internal import SocialAPI
internal import StreaksDomain

/// What becomes of streaks when a profile changes, or an account is deleted or shut (SD-3, AU-7, SO-9): of every kind at once.
struct AccountConsumers: Sendable {
    let writer: StreakWriter
    private var store: StreakStore { writer.store }

    init(writer: StreakWriter) { self.writer = writer }

    var handlers: [EventHandler] {
        [
            EventHandler(AccountDeleted.self) { event, work in
                try await endAll(of: event.userID, at: event.deletedAt, canComeBack: true, work)
            },
            EventHandler(AccountRestored.self) { event, work in
                try await writer.reopen(of: event.userID, work)
                try EndedAccountRepository.dropMarks(of: event.userID, work.sql)
            },
            EventHandler(ModerationActionTaken.self) { event, work in
                guard event.action == .suspend || event.action == .ban else { return }
                try await breakAll(of: event.userID, isForGood: event.action == .ban, work)
            },
        ]
    }

    /// Another zone moves deadlines (SD-3). A deleted account has none; its last profile may come after its erasure.
    ///
    /// An account that is shut loses its streaks, also where an administrator has done it without a report (SO-9).
    func profileChanged(_ profile: Profile, _ work: UnitOfWork) async throws {
        guard profile.status != .deleted else { return }
        try await zoneChanged(profile, work)
        if profile.status == .suspended || profile.status == .banned {
            try await breakAll(of: profile.userID, isForGood: profile.status == .banned, work)
        }
        // After the streaks' locks, in the order every transaction locks.
        try await writer.clockChanged(of: profile.userID, work)
    }

    /// Settles again what was settled before the change was received (SD-6): also streaks that broke since it was made.
    private func zoneChanged(_ profile: Profile, _ work: UnitOfWork) async throws {
        let (user, zone, since) = (profile.userID, profile.zone, profile.zoneSince)
        guard try await ZoneRepository.isNews(zone, of: user, since: since, work.sql) else { return }
        let ids =
            try await store.activeIDs(of: user, work.sql)
            + (try await MemberRepository.broken(of: user, since: since, work.sql))
        _ = try await StreakRepository.lock(ids, work.sql)
        try await ZoneRepository.deleteKept(of: user, since: since, work.sql)
        let streaks = try await store.lock(ids, work.sql)
        // Replicas' clocks differ a little: never before what was settled without it.
        let now = streaks.map(\.row.settledAt).reduce(work.now, max)
        _ = try await writer.apply(streaks.map { .init(.changeZone(user, zone, since: since), $0) }, notBefore: now, work)
        _ = try await ZoneRepository.add(zone, of: user, since: since, recordedAt: now, work.sql)
    }

    /// Another plan decides otherwise since it began: what was settled without it is settled again (SD-6).
    func entitlementsChanged(_ event: EntitlementsChanged, _ work: UnitOfWork) async throws {
        let isPremium = event.plan == .premium
        let (user, until) = (event.userID, event.expiresAt)
        guard try await PlanRepository.isNews(event.version, isPremium: isPremium, until: until, of: user, work.sql) else {
            return
        }
        let kinds = StreakKind.allCases.filter { writer.policy(for: $0).asksForPlans }
        let ids =
            try await store.activeIDs(of: user, kinds: kinds, work.sql)
            + (try await MemberRepository.broken(of: user, kinds: kinds, since: event.changedAt ?? work.now, work.sql))
        let streaks = try await store.lock(ids, work.sql)
        let now = streaks.map(\.row.settledAt).reduce(work.now, max)
        // Of a release that did not say it: from now on, as what was settled was settled by the plan of before.
        let since = min(now, event.changedAt ?? now)
        let command = StreakCommand.changePlan(user, isPremium: isPremium, until: until, since: since)
        _ = try await writer.apply(streaks.map { .init(command, $0) }, notBefore: now, work)
        try await PlanRepository.add(event.version, isPremium: isPremium, until: until, of: user, since: since, work.sql)
    }

    /// Ends every streak of a user, broken by no one. A team goes on without them.
    ///
    /// - Parameters:
    ///   - instant: when the account was deleted: streaks end then, however late the event is handled, and of the teams' date it is the end
    ///     of, they are no members. nil: now.
    ///   - canComeBack: those of one person go on when the account is restored (`StreakWriter.reopen`).
    func endAll(of user: UserID, at instant: Instant? = nil, canComeBack: Bool = false, _ work: UnitOfWork) async throws {
        let kinds = StreakKind.allCases
        let shared = try await store.unendedIDs(of: user, kinds: kinds.filter(\.hasChangingMembers), work.sql)
        let fixed = try await store.unendedIDs(of: user, kinds: kinds.filter { !$0.hasChangingMembers }, work.sql)
        try await end(fixed, .endWithAccount(of: user, at: instant ?? work.now), canComeBack: canComeBack, work)
        let teams = try await store.lock(shared, work.sql)
        for outcome in try await writer.apply(.leave(user, at: instant), toEach: teams, work) { _ = try outcome.get() }
    }

    /// Breaks every running streak of a user, by them. One that counts nothing cannot break (SD-8); a ban ends it. A team is not broken for
    /// what one member did.
    private func breakAll(of user: UserID, isForGood: Bool, _ work: UnitOfWork) async throws {
        let kinds = StreakKind.allCases.filter { !$0.hasChangingMembers }
        let running = try await store.lock(try await store.activeIDs(of: user, kinds: kinds, work.sql), work.sql)
        let changes = try await writer.apply(.breakOff(by: user), toEach: running, work).map { try $0.get() }
        guard isForGood else { return }
        // Of an account that was deleted before.
        try await EndedAccountRepository.forget(user, work.sql)
        // Read again by `end`: what the first change has emitted must not be emitted twice.
        try await end(changes.filter { $0.change.state.status == .active }.map(\.row.id), .end, work)
    }

    /// Ends streaks together: the totals of a user are counted once, however many they are.
    private func end(_ streaks: [StreakID], _ command: StreakCommand, canComeBack: Bool = false, _ work: UnitOfWork) async throws
    {
        let stored = try await store.lock(streaks, work.sql)
        if canComeBack {
            try EndedAccountRepository.keepKeys(of: stored.filter { $0.row.kind.isOfOnePerson }.map(\.row.id), work.sql)
        }
        for outcome in try await writer.apply(command, toEach: stored, work) { _ = try outcome.get() }
    }
}
