internal import Bus
internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// The numbers of the profile screen.
struct GetHabitProfile: QueryHandler {
    let accounts: HabitAccounts

    func handle(_: GetHabitProfileRequest, _ context: CallContext) async throws -> GetHabitProfileReply {
        let (user, habits) = (try context.requireUser(), accounts.habits)
        let today = try await habits.refresh(user, context).today
        let overview = try await accounts.overview(context)
        let window = overview.isPremium ? HabitWindow.month : .week
        let dates = window.dates(until: today, since: today)
        let rows = try await habits.database.query(
            together: HabitReads.profile(of: user, since: dates.lowerBound, until: today)
        )
        let figures = try HabitReads.profile(rows)
        return GetHabitProfileReply(
            totalHabits: Int32(clamping: overview.counts.all),
            activeHabits: Int32(clamping: overview.counts.active),
            archivedHabits: Int32(clamping: overview.counts.archived),
            averageStreak: Int32(clamping: averageStreak(figures.counts)),
            bestCurrentStreak: Int32(clamping: figures.counts.map { $0.count * $0.unit.dates }.max() ?? 0),
            completionRate: SuccessRate(figures.rate),
            completionRateDays: Int32(dates.count),
            daysActive: Int32(clamping: figures.firstDate.map { max(0, $0.distance(to: today)) + 1 } ?? 0),
            premium: overview.isPremium,
            habits: PlanUse(
                overview.counts.active,
                of: HabitLimits.of(isPremium: overview.isPremium).activeHabits,
                isPremium: overview.isPremium
            ),
            lastBackupAt: overview.account.backedUpAt
        )
    }
}
