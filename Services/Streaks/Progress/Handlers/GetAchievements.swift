internal import Bus
internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What the user has earned, and how far they are with the rest (MS-7).
struct GetAchievements: QueryHandler {
    let database: Database

    func handle(_: GetAchievementsRequest, _ context: CallContext) async throws -> GetAchievementsReply {
        let user = try context.requireUser()
        let earned = try await AchievementRepository.earned(by: user, database)
        let counts = try await StatsRepository.counts(of: user, database)
        let totals = StreakTotals(of: user, try await LedgerReads.records(.mutual, of: user, database))
        let tally = StreaksDomain.Achievement.Tally(
            longest: totals.longest,
            recoveries: counts.recoveriesUsed,
            onTimeSnaps: counts.onTimePhotos
        )
        let all = StreaksDomain.Achievement.allCases.map { achievement in
            StreaksAPI.Achievement(
                id: achievement.rawValue,
                name: achievement.name,
                description: achievement.summary,
                badge: achievement.badge,
                earned: earned[achievement] != nil,
                earnedAt: earned[achievement],
                progress: Int32(earned[achievement] != nil ? achievement.target : achievement.progress(tally)),
                target: Int32(achievement.target)
            )
        }
        return GetAchievementsReply(achievements: all, earnedCount: Int32(all.count(where: \.earned)))
    }
}
