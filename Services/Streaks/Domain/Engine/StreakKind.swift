/// The kinds of streak that the store keeps (D15). The raw value is the one in SQL and never changes.
public enum StreakKind: Int32, CaseIterable, Hashable, Sendable {
    /// Two friends, a photo each, every date (MS-*). Identity key: the pair.
    case mutual = 1
    /// One user's daily check-in (CI-*). Identity key of this and the typed kinds: the user's id.
    case checkIn = 2
    /// One user's daily photo (TS-1).
    case dailySnap = 3
    /// One user's recipes (TS-1).
    case recipeCreation = 4
    /// One user's challenges (TS-1).
    case challengeCompletion = 5
    /// What one user shares (TS-1).
    case socialShare = 6
    /// One user's healthy meals (TS-1).
    case healthyEating = 7
    /// A circle's (TS-4). Identity key: the circle's id.
    case team = 8
    /// One habit of one user (HA-*). Identity key: the habit's id.
    case habit = 9

    /// The five typed kinds, in the order of TS-1.
    public static let typed: [StreakKind] = [
        .dailySnap, .recipeCreation, .challengeCompletion, .socialShare, .healthyEating,
    ]

    /// The kinds with one member: check-in and the typed ones.
    public static let solo: [StreakKind] = [.checkIn] + typed

    /// Its name in routes, exports and events: `check_in`, `daily_snap`, ….
    public var typeName: String {
        switch self {
        case .mutual: "mutual"
        case .checkIn: "check_in"
        case .dailySnap: "daily_snap"
        case .recipeCreation: "recipe_creation"
        case .challengeCompletion: "challenge_completion"
        case .socialShare: "social_share"
        case .healthyEating: "healthy_eating"
        case .team: "team"
        case .habit: "habit"
        }
    }

    /// The kind of this name; nil when there is none.
    public init?(typeName: String) {
        guard let kind = Self.allCases.first(where: { $0.typeName == typeName }) else { return nil }
        self = kind
    }

    /// Whether it is one user's.
    public var isSolo: Bool { Self.solo.contains(self) }

    /// Whether it has one member for as long as it lives: check-in, the typed ones, habits.
    public var isOfOnePerson: Bool { isSolo || self == .habit }

    /// Whether members may join and leave while the streak runs. For other kinds they are fixed at the start.
    public var hasChangingMembers: Bool { self == .team }
}

/// The rules of each kind: the only place where kinds differ in the fold (D15).
public struct StreakPolicies: Sendable {
    private let policies: [StreakKind: StreakPolicy]

    /// The product's rules.
    public static let standard = StreakPolicies()

    /// The product's rules, some of them replaced.
    public init(replacing others: [StreakKind: StreakPolicy] = [:]) {
        let standard = StreakKind.allCases.map { kind in
            switch kind {
            case .mutual: (kind, StreakPolicy.mutual)
            case .checkIn: (kind, StreakPolicy.checkIn)
            case .dailySnap, .recipeCreation, .challengeCompletion, .socialShare, .healthyEating: (kind, StreakPolicy.typed)
            case .team: (kind, StreakPolicy.team)
            case .habit: (kind, StreakPolicy.habit)
            }
        }
        policies = Dictionary(uniqueKeysWithValues: standard).merging(others) { $1 }
    }

    /// The rules of a kind.
    public func policy(for kind: StreakKind) -> StreakPolicy { policies[kind] ?? .mutual }
}
