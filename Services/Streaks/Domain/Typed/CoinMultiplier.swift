/// By how much the coins of a date are multiplied (TS-2): 1 and 0.1 for each full week of the streak, twice for premium, twice on a double day,
/// at most 2.5. Reckoned in tenths, so that nothing is rounded.
public struct CoinMultiplier: Hashable, Sendable {
    /// The most there is: 2.5.
    public static let cap = 25
    /// Coins of a date before they are multiplied.
    public static let base = 10

    /// From 10 to 25.
    public let tenths: Int

    /// - Parameter count: the streak's, the date included; below 0 counts as 0.
    public init(count: Int, isPremium: Bool, isDoubled: Bool) {
        // Beyond the cap weeks change nothing: no count overflows.
        let weeks = min(max(0, count) / 7, Self.cap)
        tenths = min(Self.cap, (10 + weeks) * (isPremium ? 2 : 1) * (isDoubled ? 2 : 1))
    }

    /// As shown: 1.0 … 2.5.
    public var value: Double { Double(tenths) / 10 }
    /// Coins of a date with a contribution.
    public var coins: Int { Self.base * tenths / 10 }

    /// Coins of a milestone: twice as many on a double day, and nothing else multiplies them.
    public static func milestone(_ coins: Int, isDoubled: Bool) -> Int { isDoubled ? coins * 2 : coins }
}
