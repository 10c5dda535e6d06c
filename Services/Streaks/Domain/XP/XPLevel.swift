/// The level that lifetime XP make (CI-6): level `n` begins at `50 · n · (n − 1)`, so 0, 100, 300, 600, 1000, … and each level takes 100
/// more than the one before it.
public struct XPLevel: Hashable, Sendable {
    /// From 1.
    public let number: Int
    /// Lifetime XP at which it begins.
    public let from: Int64
    /// Lifetime XP at which the next one begins.
    public let nextAt: Int64

    /// The highest level there is: a bound for arithmetic that no user reaches.
    public static let highest = 1_000_000

    /// The level of a user with so many lifetime XP; less than 0 counts as 0.
    public init(lifetime: Int64) {
        // The highest n with 50 n (n − 1) <= lifetime, by halving.
        var (low, high) = (1, Self.highest)
        while low < high {
            let middle = low + (high - low + 1) / 2
            if Self.start(of: middle) <= max(0, lifetime) { low = middle } else { high = middle - 1 }
        }
        (number, from, nextAt) = (low, Self.start(of: low), Self.start(of: low + 1))
    }

    /// Lifetime XP at which a level begins.
    public static func start(of level: Int) -> Int64 { 50 * Int64(level) * Int64(level - 1) }
}
