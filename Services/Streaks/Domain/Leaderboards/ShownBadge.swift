extension StreakKind {
    /// Whether streaks of this kind are ranked: those of one user (CI-7, TS-1).
    public var hasLeaderboard: Bool { isSolo }
}

/// What stands beside a name on a leaderboard.
public enum ShownBadge {
    /// The badge of the greatest length that was reached (CI-7); nil below 1.
    public static func title(longest: Int) -> String? {
        Badge.allCases.filter { $0.count.map { $0 <= longest } ?? false }.max { ($0.count ?? 0) < ($1.count ?? 0) }?.title
    }

    /// The flame that a longest streak unlocks by itself (CI-5): gold at 50, diamond at 100, rainbow at 180.
    public static func flame(longest: Int) -> String {
        switch longest {
        case ..<50: "orange"
        case ..<100: "gold"
        case ..<180: "diamond"
        default: "rainbow"
        }
    }
}
