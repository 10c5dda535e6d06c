/// Arithmetic of the catalogue (BI-4).
public enum Catalogue {
    /// What an item costs for what it gives.
    public struct Price: Hashable, Sendable {
        /// In US cents.
        public var cents: Int64
        /// Months of a subscription, or pieces of a good.
        public var units: Int64

        public init(cents: Int64, units: Int64) { (self.cents, self.units) = (cents, units) }
    }

    /// How much cheaper a unit is than in the item it is compared with, in whole percent, rounded down; nil when it is not cheaper.
    public static func saving(of price: Price, against base: Price) -> Int32? {
        guard price.units > 0, base.units > 0, base.cents > 0, price.cents >= 0 else { return nil }
        let full = base.cents * price.units
        let percent = (full - price.cents * base.units) * 100 / full
        return percent > 0 ? Int32(clamping: percent) : nil
    }

    /// How many may be bought within the days of a limit (BI-4).
    ///
    /// - Parameters:
    ///   - limit: of one streak when `isPerStreak`, otherwise of the user.
    ///   - streaks: of the user, that it could be used on; before the first there may be one. nil: not known.
    public static func most(_ limit: Int32, isPerStreak: Bool, streaks: Int32?) -> Int64 {
        Int64(limit) * (isPerStreak ? Int64(max(1, streaks ?? 1)) : 1)
    }

    /// How many more may be bought.
    public static func remaining(most: Int64, bought: Int64) -> Int32 { Int32(clamping: max(0, most - bought)) }
}

/// What can be bought, besides premium (BI-4). Recovery tokens are billing's own; everything else is kept by `streaks`.
public enum Good: String, Hashable, Sendable, CaseIterable {
    case recoveryToken = "recovery_token"
    case freeze
    case repair
    case shield
    case boosterOfXP = "xp_booster"
    case insurance
    case restore
    case doubleDay = "double_day"
    case timeMachine = "time_machine"

    /// The currency that it is in; nil for what another service keeps.
    public var currency: LedgerCurrency? { self == .recoveryToken ? .recoveryTokens : nil }
}
