internal import Bus
internal import Database
internal import Kernel
internal import Replicas
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Ranks with the names and pictures of their users.
struct BoardEntries: Sendable {
    let database: Database
    let profiles: ProfileReplica
    let clock: any Clock

    /// The entries of these ranks. A user who may not be seen, or whose profile is not known, has none and leaves a gap.
    ///
    /// - Parameters:
    ///   - ranked: in the order of their ranks.
    ///   - caller: whose own entry is marked.
    func entries(_ ranked: [Leaderboards.Ranked], for caller: UserID?, _ context: CallContext) async throws -> [LeaderboardEntry]
    {
        let known = try await profiles.profiles(ranked.map(\.user), context: context)
        let rewards = try await RewardRepository.shown(of: ranked.map(\.user), now: clock.now(), database)
        return ranked.enumerated().compactMap { index, ranked in
            guard let profile = known[ranked.user], profile.isVisible else { return nil }
            return LeaderboardEntry(
                rank: Int32(index + 1),
                userID: ranked.user,
                username: profile.username,
                avatarURL: profile.avatarURL,
                currentStreak: Int32(ranked.score.count),
                longestStreak: Int32(ranked.score.longest),
                badge: ShownBadge.title(longest: ranked.score.longest),
                flameColor: rewards[ranked.user]?.flame.rawValue ?? ShownBadge.flame(longest: ranked.score.longest),
                isCurrentUser: ranked.user == caller
            )
        }
    }
}
