internal import Kernel
internal import Outbox
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Gives users what they have earned, in the transaction that earns it, and emits it once (MS-7).
enum Achievements {
    typealias Grant = StreaksDomain.Achievement.Grant

    /// What changes of streaks earn their members. Costs nothing unless a celebrated count was reached, a token used, or a broken
    /// streak has ended.
    static func follow(_ changes: [PlannedChange], _ work: UnitOfWork) async throws {
        var grants: Set<Grant> = []
        var tokens: [UserID: Int] = [:]
        var endedBreaks: [(user: UserID, isTheirs: Bool)] = []
        for (members, change) in changes.lazy.map({ ($0.row.members, $0.change) }) {
            grants.formUnion(StreaksDomain.Achievement.earned(by: change.effects, members))
            tokens.merge(tokensSpent(in: change.effects), uniquingKeysWith: +)
            if let ended = change.endedBreak { endedBreaks += members.map { ($0, ended.by == $0) } }
        }
        try await grant(grants.sorted(), work)
        try await StatsRepository.add(recoveries: tokens.filter { $0.value != 0 }, work.sql)
        try await StatsRepository.addEndedBreaks(endedBreaks, work.sql)
    }

    static func grant(_ grants: [Grant], _ work: UnitOfWork) async throws {
        guard !grants.isEmpty else { return }
        try await work.emit(
            try await AchievementRepository.add(grants, at: work.now, work.sql).map { new in
                AchievementEarned(userID: new.user, achievement: new.achievement.rawValue, earnedAt: work.now)
            }
        )
    }
}
