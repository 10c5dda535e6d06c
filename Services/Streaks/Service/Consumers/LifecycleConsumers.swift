internal import AuthAPI
internal import Kernel
internal import Outbox
internal import Replicas
internal import Runtime
internal import SocialAPI
internal import StreaksDomain

/// What becomes of streaks when an account goes or is shut (AU-7, SO-9).
struct LifecycleConsumers: Sendable {
    let keeper: StreakKeeper

    var handlers: [EventHandler] {
        [
            EventHandler(AccountDeleted.self) { event, work in
                _ = try await endAll(of: try UserID(parsing: event.userID, field: "user_id"), work)
            },
            EventHandler(AccountPurged.self) { event, work in
                let user = try UserID(parsing: event.userID, field: "user_id")
                // A request that was under way at the deletion may have started one since.
                try await endAll(of: user, work)
                try await DepartureRepository.erase(user, now: work.now, work.sql)
                try await BlockReplica.erase(user, work.sql)
                try await Mutations.forget(caller: user, work.sql)
            },
            EventHandler(ModerationActionTaken.self) { event, work in
                guard event.action == .suspend || event.action == .ban else { return }
                let user = try UserID(parsing: event.userID, field: "user_id")
                try await breakAll(of: user, isForGood: event.action == .ban, work)
            },
        ]
    }

    /// Ends every streak of a person, with nobody to blame.
    private func endAll(of user: UserID, _ work: UnitOfWork) async throws {
        let ids = try await DepartureRepository.unendedIDs(of: user, work.sql)
        let streaks = try await keeper.streaks.lock(ids, work.sql)
        for stored in streaks { _ = try await keeper.apply(.end, to: stored, work) }
        guard !streaks.isEmpty else { return }
        try await keeper.refreshStats(streaks.flatMap { [$0.row.userA, $0.row.userB] }, work)
    }

    /// Breaks every running streak of a person, by them. One that counts nothing cannot break (SD-8); a ban ends it.
    private func breakAll(of user: UserID, isForGood: Bool, _ work: UnitOfWork) async throws {
        let ids = try await keeper.streaks.activeIDs(of: user, work.sql)
        let streaks = try await keeper.streaks.lock(ids, work.sql)
        for stored in streaks {
            let change = try await keeper.apply(.breakOff(by: user), to: stored, work)
            if let brokenOff = change.ledger.brokenOff {
                try await DepartureRepository.store(stored.row.id, brokenOffAt: brokenOff.at, by: brokenOff.user, work.sql)
            } else if isForGood {
                // Read again: what the first look has told must not be told twice.
                for looked in try await keeper.streaks.lock([stored.row.id], work.sql) where looked.row.status == .active {
                    _ = try await keeper.apply(.end, to: looked, work)
                }
            }
        }
        guard !streaks.isEmpty else { return }
        try await keeper.refreshStats(streaks.flatMap { [$0.row.userA, $0.row.userB] }, work)
    }
}
