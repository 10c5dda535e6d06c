internal import Bus
internal import Database
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// What the form for a habit offers (HA-1, HA-17).
struct GetHabitChoices: QueryHandler {
    let accounts: HabitAccounts

    func handle(_: GetHabitChoicesRequest, _ context: CallContext) async throws -> GetHabitChoicesReply {
        let shown = try await accounts.categories(context)
        let overview = try await accounts.overview(context)
        let limits = HabitLimits.of(isPremium: overview.isPremium)
        return GetHabitChoicesReply(
            categories: shown.records.map { HabitCategory($0) },
            colors: HabitPalette.colors,
            icons: HabitPalette.icons,
            customAppearance: overview.isPremium,
            reminderTime: overview.account.settings.reminderMinute.map(HabitReminderTime.text),
            habits: PlanUse(overview.counts.active, of: limits.activeHabits, isPremium: overview.isPremium),
            ownCategories: shown.use,
            reminders: PlanUse(overview.reminders, of: limits.reminders, isPremium: overview.isPremium)
        )
    }
}
