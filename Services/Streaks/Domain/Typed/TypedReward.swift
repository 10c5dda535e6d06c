/// A count of a typed streak that is celebrated (TS-1), with coins of its own and the XP of the same milestone of check-ins (CI-5). Each
/// rewards once in the life of a streak.
public struct TypedReward: Hashable, Sendable {
    public let days: Int
    public let title: String
    public let badge: String
    public let coins: Int
    public let xp: Int

    /// Ascending.
    public static let all = [
        TypedReward(days: 3, title: "Starter", badge: "🔥", coins: 10, xp: 30),
        TypedReward(days: 7, title: "Week Warrior", badge: "📅", coins: 50, xp: 100),
        TypedReward(days: 14, title: "Two Week Champion", badge: "💪", coins: 100, xp: 200),
        TypedReward(days: 30, title: "Monthly Master", badge: "🌟", coins: 500, xp: 500),
        TypedReward(days: 50, title: "Streak Elite", badge: "🎯", coins: 1_000, xp: 750),
        TypedReward(days: 100, title: "Century Chef", badge: "👑", coins: 5_000, xp: 2_000),
        TypedReward(days: 365, title: "Year Legend", badge: "🌈", coins: 20_000, xp: 10_000),
    ]

    /// The milestone of a count; nil when it is none.
    public init?(days: Int) {
        guard let found = Self.all.first(where: { $0.days == days }) else { return nil }
        self = found
    }

    private init(days: Int, title: String, badge: String, coins: Int, xp: Int) {
        (self.days, self.title, self.badge, self.coins, self.xp) = (days, title, badge, coins, xp)
    }
}
