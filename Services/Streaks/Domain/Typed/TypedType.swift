/// How a typed streak is shown (TS-1).
public struct TypedType: Hashable, Sendable {
    public let kind: StreakKind
    public let displayName: String
    public let icon: String

    /// In the order of TS-1.
    public static let all = [
        TypedType(kind: .dailySnap, displayName: "Daily Snap", icon: "📸"),
        TypedType(kind: .recipeCreation, displayName: "Recipe Creator", icon: "👨‍🍳"),
        TypedType(kind: .challengeCompletion, displayName: "Challenge Master", icon: "🏆"),
        TypedType(kind: .socialShare, displayName: "Social Chef", icon: "📱"),
        TypedType(kind: .healthyEating, displayName: "Healthy Habits", icon: "🥗"),
    ]

    /// That of a kind; nil for kinds that are not typed.
    public init?(_ kind: StreakKind) {
        guard let found = Self.all.first(where: { $0.kind == kind }) else { return nil }
        self = found
    }

    private init(kind: StreakKind, displayName: String, icon: String) {
        (self.kind, self.displayName, self.icon) = (kind, displayName, icon)
    }

    /// One to five flames for a count.
    public static func flames(_ count: Int) -> String {
        switch count {
        case ...2: "🔥"
        case 3...6: "🔥🔥"
        case 7...29: "🔥🔥🔥"
        case 30...99: "🔥🔥🔥🔥"
        default: "🔥🔥🔥🔥🔥"
        }
    }
}
