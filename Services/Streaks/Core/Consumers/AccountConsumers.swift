internal import AuthAPI
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
                try await endAll(of: event.userID, work)
            },
            EventHandler(ModerationActionTaken.self) { event, work in
                guard event.action == .suspend || event.action == .ban else { return }
                try await breakAll(of: event.userID, isForGood: event.action == .ban, work)
            },
        ]
    }

    /// Another zone moves deadlines (SD-3). A deleted account has none; its last profile may come after its erasure.
    func profileChanged(_ profile: Profile, _ work: UnitOfWork) async throws {
        guard profile.status != .deleted else { return }
        try await zoneChanged(profile, work)
        // After the streaks' locks, in the order every transaction locks.
        try await writer.clockChanged(of: profile.userID, work)
    }

    private func zoneChanged(_ profile: Profile, _ work: UnitOfWork) async throws {
        guard try await ZoneRepository.add(profile.zone, of: profile.userID, since: profile.zoneSince, work.sql) else { return }
        let ids = try await store.activeIDs(of: profile.userID, work.sql)
        // The event may come so late that the change moves dates which a checkpoint has settled.
        let finality = StreakKind.allCases.map { writer.policy(for: $0).finality }.min() ?? .zero
        if profile.zoneSince < work.now - finality { try await store.deleteCheckpoints(of: ids, work.sql) }
        try await writer.settle(try await store.lock(ids, work.sql), urgency: .now, work)
    }

    /// Ends every streak of a user, broken by no one.
    func endAll(of user: UserID, _ work: UnitOfWork) async throws {
        try await end(try await store.unendedIDs(of: user, work.sql), work)
    }

    /// Breaks every running streak of a user, by them. One that counts nothing cannot break (SD-8); a ban ends it.
    private func breakAll(of user: UserID, isForGood: Bool, _ work: UnitOfWork) async throws {
        let running = try await store.lock(try await store.activeIDs(of: user, work.sql), work.sql)
        let changes = try await writer.apply(.breakOff(by: user), toEach: running, work).map { try $0.get() }
        guard isForGood else { return }
        // Read again by `end`: what the first change has emitted must not be emitted twice.
        try await end(changes.filter { $0.change.state.status == .active }.map(\.row.id), work)
    }

    /// Ends streaks together: the totals of a user are counted once, however many they are.
    private func end(_ streaks: [StreakID], _ work: UnitOfWork) async throws {
        let stored = try await store.lock(streaks, work.sql)
        for outcome in try await writer.apply(.end, toEach: stored, work) { _ = try outcome.get() }
    }
}
