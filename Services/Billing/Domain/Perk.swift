/// What premium gives (BI-2), as the catalogue lists it. The figures are those of the rules that give it.
public enum Perk: String, Hashable, Sendable, CaseIterable {
    case unlimitedStreaks = "unlimited_streaks"
    case customPrompts = "custom_prompts"
    case monthlyToken = "monthly_recovery_token"
    case moreFreezes = "more_freezes"
    case cheaperFreezes = "cheaper_freezes"
    case freeRepair = "free_repair"
    case bonusXP = "bonus_xp"
    case doubleCoins = "double_coins"
    case moreFreeDates = "more_free_dates"
    case automaticInsurance = "automatic_insurance"
    case flameColors = "flame_colors"
    case unlimitedHabits = "unlimited_habits"
    case habitInsights = "habit_insights"
    case habitAppearance = "habit_appearance"
    case historyExport = "history_export"

    /// One sentence to show.
    public var text: String {
        switch self {
        case .unlimitedStreaks:
            "Any number of streaks with friends at once; the free plan has \(PlanLimits.streakLimit(isPremium: false) ?? 0)."
        case .customPrompts: "Photo prompts of your own for your streaks."
        case .monthlyToken: "A recovery token each month."
        case .moreFreezes:
            "Two freezes to begin a check-in streak with, and one more every 5 days of it; the free plan has one, and every 7 days."
        case .cheaperFreezes: "Streak freezes for 0.79 instead of 0.99 US dollars."
        case .freeRepair: "A repair of a broken check-in streak each month."
        case .bonusXP: "25 % more XP for each check-in."
        case .doubleCoins: "Twice the coins for activities, up to 2.5 times in all."
        case .moreFreeDates: "Four missed dates a month that break no activity streak; the free plan has one."
        case .automaticInsurance: "An insurance of each activity streak, once in 7 days."
        case .flameColors: "Every colour of the flame."
        case .unlimitedHabits: "Many more habits, categories of your own and reminders; the free plan has 5, 3 and 3 a day."
        case .habitInsights: "Statistics of a month and a year, and insights into your habits."
        case .habitAppearance: "Colors and icons of your own, and the habit widget."
        case .historyExport: "The history of check-ins and activities as files."
        }
    }
}
