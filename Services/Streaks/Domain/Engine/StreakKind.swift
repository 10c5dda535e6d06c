/// The kinds of streak that the store keeps (D15). The raw value is the one in SQL and never changes.
public enum StreakKind: Int32, CaseIterable, Hashable, Sendable {
    /// Two friends, a photo each, every date (MS-*).
    case mutual = 1
    /// One user's daily check-in (CI-*).
    case checkIn = 2

    /// Whether members may join and leave while the streak runs. For other kinds they are fixed at the start.
    public var hasChangingMembers: Bool {
        switch self {
        case .mutual, .checkIn: false
        }
    }
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
            case .checkIn: (kind, StreakPolicy.checkIn())
            }
        }
        policies = Dictionary(uniqueKeysWithValues: standard).merging(others) { $1 }
    }

    /// The rules of a kind.
    public func policy(for kind: StreakKind) -> StreakPolicy { policies[kind] ?? .mutual }
}
