/// What can be bought for streaks and is kept until it is used (BI-4, BI-5). The names are those of the wire.
public enum StreakGood: String, Hashable, Sendable, CaseIterable {
    /// Kept as a check-in streak's freeze (CI-2).
    case freeze
    /// Repairs a check-in streak (CI-3).
    case repair
    /// Covers the next break (TS-3).
    case shield
    /// Half as many XP again for 7 days (TS-3).
    case boosterOfXP = "xp_booster"
    /// Undoes a break within 7 days, once (TS-3).
    case insurance
    /// Brings a broken streak back (TS-3).
    case restore
    /// Twice the coins for a day (TS-2).
    case doubleDay = "double_day"
    /// Fills one missed date of the last 7 days (TS-3).
    case timeMachine = "time_machine"
}
