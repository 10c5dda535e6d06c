internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksDomain

/// Gives people what they have earned, in the transaction that earns it, and tells of it once (MS-7).
enum Achievements {
    typealias Grant = StreaksDomain.Achievement.Grant

    /// What a change of a streak means for its people. Costs nothing unless a celebrated count was reached, a token used, or a broken
    /// streak has ended.
    static func follow(_ change: StreakChange, of row: StreakRow, _ work: UnitOfWork) async throws {
        try await grant(StreaksDomain.Achievement.earned(by: change.effects, [row.userA, row.userB]), work)
        for (user, tokens) in tokensSpent(in: change.effects).sorted(by: { $0.key < $1.key }) {
            try await StatsRepository.add(recoveries: tokens, of: user, work.sql)
        }
        guard let ended = change.endedBreak else { return }
        for user in [row.userA, row.userB] {
            try await StatsRepository.addEndedBreak(of: user, isTheirs: ended.by == user, work.sql)
        }
    }

    static func grant(_ grants: [Grant], _ work: UnitOfWork) async throws {
        guard !grants.isEmpty else { return }
        for new in try await AchievementRepository.add(grants, at: work.now, work.sql) {
            try await work.emit(
                AchievementEarned(
                    userID: new.user.description,
                    achievement: new.achievement.rawValue,
                    earnedAt: work.now
                )
            )
        }
    }
}
