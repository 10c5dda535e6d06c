/// What activities and milestones are worth in XP (CI-5, CI-6). Percentages add, on base XP, rounded half up.
public enum XPRules {
    /// Of a day's first check-in.
    public static let checkIn = 10
    /// Added for premium, in percent of the base.
    public static let premiumPercent = 25
    /// Added while a booster runs (TS-3).
    public static let boosterPercent = 50
    /// Added for a week from Monday to Sunday with a check-in on every date.
    public static let perfectWeekPercent = 20
    /// Added for a calendar month with a check-in on every date.
    public static let perfectMonthPercent = 50
    /// Prices (BI-4, CI-3, CI-6).
    public static let freezePrice = 100
    public static let repairPrice = 500
    public static let boosterPrice = 300

    /// `base` and what percentages add to it.
    public static func xp(base: Int, percent: Int) -> Int { base + share(percent, of: base) }

    /// So many percent of `base`, rounded half up. Both at least 0.
    public static func share(_ percent: Int, of base: Int) -> Int { (base * percent * 2 + 100) / 200 }

    /// Of a check-in. The bonus for a perfect week or month comes once it is complete (`bonus`).
    public static func checkIn(isPremium: Bool, isBoosted: Bool) -> Int {
        xp(base: checkIn, percent: (isPremium ? premiumPercent : 0) + (isBoosted ? boosterPercent : 0))
    }
}
