/// What freezes cost and how many there may be (CI-2, BI-4).
public enum FreezePrices {
    public static let cap = 5
    /// Quantities that are sold.
    public static let quantities: Set<Int32> = [1, 5]
    /// A single one's; premium pays less.
    public static func price(isPremium: Bool) -> Dollars { Dollars(cents: isPremium ? 79 : 99) }
    /// One's price in coins; five cost five times as much.
    public static let coins = 100
    /// In hand at sign-up.
    public static func atStart(isPremium: Bool) -> Int { isPremium ? 2 : 1 }
    /// Streak days in which one is earned.
    public static func earnedEvery(isPremium: Bool) -> Int { isPremium ? 5 : 7 }
}
