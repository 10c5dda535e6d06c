package import Kernel
package import Outbox
internal import StreaksAPI
package import StreaksDomain

/// Gives users what they have earned, in the transaction that earns it, each once, and emits it (CI-5). Any feature may grant a badge.
package enum RewardGrants {
    package typealias Earned<Reward: Hashable & Sendable> = RewardRepository.Earned<Reward>

    /// Grants badges and unlocks. What a user has already is left out.
    ///
    /// - Returns: the badges and unlocks that are new.
    @discardableResult
    package static func grant(
        badges: [Earned<Badge>] = [],
        unlocks: [Earned<Unlock>] = [],
        _ work: UnitOfWork
    ) async throws -> (badges: [Earned<Badge>], unlocks: [Earned<Unlock>]) {
        guard !badges.isEmpty || !unlocks.isEmpty else { return ([], []) }
        let newBadges = badges.isEmpty ? [] : try await RewardRepository.add(badges, at: work.now, work.sql)
        let newUnlocks = unlocks.isEmpty ? [] : try await RewardRepository.add(unlocks, at: work.now, work.sql)
        guard !newBadges.isEmpty || !newUnlocks.isEmpty else { return ([], []) }
        try await work.emit(
            newBadges.map { new in
                BadgeEarned(
                    userID: new.user,
                    badge: new.reward.rawValue,
                    earnedAt: work.now,
                    title: new.reward.title,
                    icon: new.reward.icon,
                    isMilestone: new.reward.count.map { StreakPolicy.checkIn.milestones.contains($0) } ?? false
                )
            }
        )
        try await work.emit(
            newUnlocks.map { new in
                UnlockEarned(userID: new.user, unlock: new.reward.rawValue, earnedAt: work.now, title: new.reward.title)
            }
        )
        try await work.emit(
            newUnlocks.filter { $0.reward == .lifetimePro }.map {
                LifetimePremiumEarned(userID: $0.user, earnedAt: work.now)
            }
        )
        let users: [UserID] = newBadges.map { $0.user } + newUnlocks.map { $0.user }
        try await emitShown(of: Array(Set(users)), work)
        return (newBadges, newUnlocks)
    }

    /// Emits what everyone sees of these users' rewards, with a new version.
    ///
    /// - Parameter plans: who is known to be premium or not, although the replica may not say so yet.
    package static func emitShown(of users: [UserID], plans: [UserID: Bool] = [:], _ work: UnitOfWork) async throws {
        let versions = try await RewardRepository.nextVersions(of: users, work.sql)
        let ids = versions.keys.sorted()
        let shown = try await RewardRepository.shown(of: ids, now: work.now, plans: plans, work.sql)
        let badges = try await RewardRepository.badges(of: ids, work.sql)
        try await work.emit(
            ids.map { user in
                let rewards = shown[user] ?? PublicRewards()
                return PublicRewardsChanged(
                    userID: user,
                    version: versions[user] ?? 0,
                    badges: (badges[user] ?? []).map(\.rawValue),
                    badge: rewards.badge?.rawValue,
                    titles: rewards.titles.map(\.rawValue),
                    goldFrame: rewards.hasGoldFrame,
                    crown: rewards.hasCrown,
                    flame: rewards.flame.rawValue
                )
            }
        )
    }
}
