internal import Bus
internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Every badge, with when it was earned or how far the user is (CI-5).
struct GetBadges: QueryHandler {
    let database: Database
    let clock: any Clock

    func handle(_: GetBadgesRequest, _ context: CallContext) async throws -> GetBadgesReply {
        let user = try context.requireUser()
        let earned = try await RewardRepository.badges(of: user, database)
        let done = try await UnlockRepository.progress(of: user, database)
        let all = Badge.allCases.map { badge in
            BadgeItem(
                id: badge.rawValue,
                title: badge.title,
                description: badge.summary,
                icon: badge.icon,
                tier: badge.tier,
                earned: earned[badge] != nil,
                earnedAt: earned[badge],
                progress: Int32(earned[badge] != nil ? badge.target : badge.progress(done)),
                target: Int32(badge.target)
            )
        }
        return GetBadgesReply(badges: all, earnedCount: Int32(all.count(where: \.earned)))
    }
}
