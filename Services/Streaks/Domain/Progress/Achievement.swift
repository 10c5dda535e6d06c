public import Kernel

/// What a user can earn once, for ever (MS-7).
public enum Achievement: String, CaseIterable, Hashable, Sendable {
    case weekWarrior = "7_day_warrior"
    case monthLegend = "30_day_legend"
    case hundredImmortal = "100_day_immortal"
    case firstRecovery = "first_recovery"
    case promptMaster = "prompt_master"

    /// A user who earns an achievement.
    public struct Grant: Hashable, Comparable, Sendable {
        public let user: UserID
        public let achievement: Achievement

        public init(_ user: UserID, _ achievement: Achievement) {
            self.user = user
            self.achievement = achievement
        }

        public static func < (left: Grant, right: Grant) -> Bool {
            (left.user, left.achievement.rawValue) < (right.user, right.achievement.rawValue)
        }
    }

    /// What a user has done so far.
    public struct Tally: Hashable, Sendable {
        /// The longest count any of their streaks ever had.
        public var longest: Int
        /// Recovery tokens spent.
        public var recoveries: Int
        /// Snaps inside their window (PW-3).
        public var onTimeSnaps: Int

        public init(longest: Int, recoveries: Int, onTimeSnaps: Int) {
            self.longest = longest
            self.recoveries = recoveries
            self.onTimeSnaps = onTimeSnaps
        }
    }

    /// The number that earns it.
    public var target: Int {
        switch self {
        case .weekWarrior: 7
        case .monthLegend, .promptMaster: 30
        case .hundredImmortal: 100
        case .firstRecovery: 1
        }
    }

    /// How much of it is done: 0…`target`.
    public func progress(_ tally: Tally) -> Int {
        let done =
            switch self {
            case .weekWarrior, .monthLegend, .hundredImmortal: tally.longest
            case .firstRecovery: tally.recoveries
            case .promptMaster: tally.onTimeSnaps
            }
        return min(max(done, 0), target)
    }

    /// What these effects earn the members of a streak, in a fixed order and each once. What was earned before is among them.
    ///
    /// A count that earns something also earns what less would have: who had that before keeps it.
    public static func earned(by effects: [StreakEffect], _ members: [UserID]) -> [Grant] {
        var grants: Set<Grant> = []
        for effect in effects {
            switch effect {
            case .milestone(let count, _, _, _):
                guard ofStreaks.contains(where: { $0.target == count }) else { continue }
                for achievement in ofStreaks where achievement.target <= count {
                    for user in members { grants.insert(Grant(user, achievement)) }
                }
            case .recovered(_, _, let user?, _): grants.insert(Grant(user, .firstRecovery))
            default: break
            }
        }
        return grants.sorted()
    }

    /// What the snap earns its author that was the `count`-th inside its window.
    public static func earned(byOnTimeSnap count: Int) -> Achievement? { count == promptMaster.target ? .promptMaster : nil }

    private static let ofStreaks: [Achievement] = [.weekWarrior, .monthLegend, .hundredImmortal]
}

/// What is shown of it.
extension Achievement {
    public var name: String {
        switch self {
        case .weekWarrior: "7 Day Warrior"
        case .monthLegend: "30 Day Legend"
        case .hundredImmortal: "100 Day Immortal"
        case .firstRecovery: "First Recovery"
        case .promptMaster: "Prompt Master"
        }
    }

    public var summary: String {
        switch self {
        case .weekWarrior, .monthLegend, .hundredImmortal: "Keep a streak with a friend for \(target) days."
        case .firstRecovery: "Save a streak with a recovery token."
        case .promptMaster: "Post \(target) snaps inside their window."
        }
    }

    /// How its badge looks.
    public var badge: String {
        switch self {
        case .weekWarrior: "bronze"
        case .monthLegend: "silver"
        case .hundredImmortal: "gold"
        case .firstRecovery: "shield"
        case .promptMaster: "camera"
        }
    }
}

/// How many recovery tokens each user spent, less those given back, in some effects.
public func tokensSpent(in effects: [StreakEffect]) -> [UserID: Int] {
    var spent: [UserID: Int] = [:]
    for effect in effects {
        switch effect {
        case .recovered(_, _, let user?, _): spent[user, default: 0] += 1
        case .tokenReturned(_, let user?, _): spent[user, default: 0] -= 1
        default: break
        }
    }
    return spent.filter { $0.value != 0 }
}
