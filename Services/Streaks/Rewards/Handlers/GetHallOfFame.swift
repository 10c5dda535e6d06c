internal import Bus
internal import Database
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// The public list of those who have reached a year (CI-5). Who cannot be seen leaves a gap on the page.
struct GetHallOfFame: QueryHandler {
    let database: Database
    let profiles: ProfileReplica
    let clock: any Clock

    func handle(_ request: GetHallOfFameRequest, _ context: CallContext) async throws -> GetHallOfFameReply {
        let (entries, total) = try await UnlockRepository.famous(
            offset: request.offset ?? 0,
            limit: request.limit ?? 50,
            database
        )
        let people = try await profiles.profiles(entries.map(\.user), context: context)
        let shown = try await RewardRepository.shown(of: entries.map(\.user), now: clock.now(), database)
        return GetHallOfFameReply(
            entries: entries.compactMap { entry in
                guard let person = people[entry.user], person.isVisible else { return nil }
                let rewards = shown[entry.user] ?? PublicRewards()
                return HallOfFameEntry(
                    username: person.username,
                    displayName: person.displayName,
                    avatarURL: person.avatarURL,
                    longestStreak: entry.longest,
                    since: entry.since,
                    crown: rewards.hasCrown,
                    flame: rewards.flame.rawValue
                )
            },
            total: total
        )
    }
}
