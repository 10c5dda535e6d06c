internal import Kernel
internal import Outbox
internal import Replicas
internal import StreaksDomain

/// What a change of a person's profile means for their streaks: another zone moves deadlines (SD-3), another zone or
/// window hour the moments they are told of.
struct PeopleConsumer: Sendable {
    let keeper: StreakKeeper

    func profileChanged(_ profile: Profile, _ work: UnitOfWork) async throws {
        try await zoneChanged(profile, work)
        // After the streaks' locks, in the order everybody takes them. Another window hour is news too (PW-2).
        try await MomentRepository.reconsider(profile.userID, now: work.now, work.sql)
    }

    private func zoneChanged(_ profile: Profile, _ work: UnitOfWork) async throws {
        guard try await ZoneRepository.add(profile.zone, of: profile.userID, since: profile.zoneSince, work.sql) else { return }
        let ids = try await keeper.streaks.activeIDs(of: profile.userID, work.sql)
        // News of a zone may come so late that it moves dates which a checkpoint has settled.
        if profile.zoneSince < work.now - StreakKeeper.policy.finality {
            try await keeper.streaks.forgetCheckpoints(of: ids, work.sql)
        }
        try await keeper.settle(try await keeper.streaks.lock(ids, work.sql), work)
    }
}
