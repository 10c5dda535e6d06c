internal import Kernel
internal import Outbox
internal import Replicas
internal import StreaksDomain

/// What a change of a person's profile means for their streaks: another zone moves deadlines (SD-3), a deleted account ends them (AU-7).
struct PeopleConsumer: Sendable {
    let keeper: StreakKeeper

    func profileChanged(_ profile: Profile, _ work: UnitOfWork) async throws {
        let isNewZone = try await ZoneRepository.add(profile.zone, of: profile.userID, since: profile.zoneSince, work.sql)
        let isGone = profile.status == .deleted
        guard isNewZone || isGone else { return }
        let ids = try await keeper.streaks.activeIDs(of: profile.userID, work.sql)
        // News of a zone may come so late that it moves dates which a checkpoint has settled.
        if isNewZone, profile.zoneSince < work.now - StreakKeeper.policy.finality {
            try await keeper.streaks.forgetCheckpoints(of: ids, work.sql)
        }
        let running = try await keeper.streaks.lock(ids, work.sql)
        for stored in running { _ = try await keeper.apply(isGone ? .end : .look, to: stored, work) }
        if isGone { try await keeper.refreshStats(running.flatMap { [$0.row.userA, $0.row.userB] }, work) }
    }
}
