/// What a check-in count opens for a user, once, for ever (CI-5). The raw value is the one in SQL and in the API and never changes.
public enum Unlock: String, CaseIterable, Hashable, Sendable {
    case friendStreaks = "friend_streaks"
    case leaderboard = "leaderboard"
    case goldFrame = "avatar_frame_gold"
    case freezeIcon = "freeze_icon"
    case superstar = "streak_superstar"
    case goldFlame = "flame_color_gold"
    case widget = "streak_widget"
    case diamondFlame = "flame_color_diamond"
    case celebrationVideo = "celebration_video"
    case insurance = "streak_insurance"
    case hundredClub = "hundred_club"
    case rainbowFlame = "flame_rainbow"
    case crown = "crown"
    case hallOfFame = "hall_of_fame"
    case lifetimePro = "lifetime_pro"
    case medal = "physical_medal"

    /// What becomes of it.
    public enum Effect: String, Hashable, Sendable {
        /// Shown beside the user's name and on their profile while it is switched on.
        case cosmetic
        /// A badge on the profile that everyone sees while it is switched on.
        case badge
        /// The user's flame; one is worn at a time.
        case flame
        /// Something the app opens: nothing here refuses a user who does not have it.
        case feature
        /// The service does something: an entitlement, a free repair a year, a place in the Hall of Fame, a medal.
        case benefit
    }

    /// The check-in count that opens it.
    public var count: Int {
        switch self {
        case .friendStreaks: 7
        case .leaderboard: 14
        case .goldFrame, .freezeIcon, .superstar: 30
        case .goldFlame, .widget: 50
        case .diamondFlame, .celebrationVideo, .insurance, .hundredClub: 100
        case .rainbowFlame: 180
        case .crown, .hallOfFame, .lifetimePro, .medal: 365
        }
    }

    public var effect: Effect {
        switch self {
        case .goldFrame, .crown: .cosmetic
        case .superstar, .hundredClub: .badge
        case .goldFlame, .diamondFlame, .rainbowFlame: .flame
        case .friendStreaks, .leaderboard, .freezeIcon, .widget, .celebrationVideo: .feature
        case .insurance, .hallOfFame, .lifetimePro, .medal: .benefit
        }
    }

    /// Whether the user may switch it off and on again.
    public var isSwitchable: Bool { effect == .cosmetic || effect == .badge || effect == .flame || self == .hallOfFame }

    /// Those opened by counts above `before`, up to `after`.
    public static func earned(from before: Int, to after: Int) -> [Unlock] {
        guard after > before else { return [] }
        return allCases.filter { before < $0.count && $0.count <= after }
    }

    /// Those a milestone opens.
    public static func opened(by count: Int) -> [Unlock] { earned(from: count - 1, to: count) }

    public var title: String {
        switch self {
        case .friendStreaks: "Friend Streaks"
        case .leaderboard: "Streak Leaderboard"
        case .goldFrame: "Gold Avatar Frame"
        case .freezeIcon: "Custom Streak Freeze Icon"
        case .superstar: "Streak Superstar"
        case .goldFlame: "Gold Flame"
        case .widget: "Streak Widget"
        case .diamondFlame: "Diamond Flame"
        case .celebrationVideo: "Celebration Video"
        case .insurance: "Streak Insurance"
        case .hundredClub: "100 Club"
        case .rainbowFlame: "Rainbow Flame"
        case .crown: "Crown"
        case .hallOfFame: "Hall of Fame"
        case .lifetimePro: "Lifetime Pro"
        case .medal: "Physical Medal"
        }
    }
}

/// What everyone sees of a user's rewards.
public struct PublicRewards: Hashable, Sendable {
    /// Colour of the flame.
    public enum Flame: String, CaseIterable, Hashable, Sendable {
        case orange, gold, diamond, rainbow

        /// What opens it; nil for the one everyone has.
        public var unlock: Unlock? {
            switch self {
            case .orange: nil
            case .gold: .goldFlame
            case .diamond: .diamondFlame
            case .rainbow: .rainbowFlame
            }
        }
    }

    /// What a user has opened, and what of it is switched off or chosen.
    public struct Choices: Hashable, Sendable {
        public var earned: Set<Unlock>
        /// Switched off by the user.
        public var off: Set<Unlock>
        /// The flame the user chose; nil: the best they have earned.
        public var flame: Flame?
        /// Premium may wear any flame at once.
        public var isPremium: Bool

        public init(earned: Set<Unlock> = [], off: Set<Unlock> = [], flame: Flame? = nil, isPremium: Bool = false) {
            (self.earned, self.off, self.flame, self.isPremium) = (earned, off, flame, isPremium)
        }
    }

    /// The badge of the highest count.
    public var badge: Badge?
    /// Unlocked badges that everyone sees: `streak_superstar`, `hundred_club`, `hall_of_fame`.
    public var titles: [Unlock]
    public var hasGoldFrame: Bool
    public var hasCrown: Bool
    public var flame: Flame

    public init(badges: some Sequence<Badge> = [], _ choices: Choices = Choices()) {
        let worn = choices.earned.subtracting(choices.off)
        badge = Badge.highest(of: badges)
        titles = Unlock.allCases.filter { ($0.effect == .badge || $0 == .hallOfFame) && worn.contains($0) }
        hasGoldFrame = worn.contains(.goldFrame)
        hasCrown = worn.contains(.crown)
        let best = Flame.allCases.last { flame in flame.unlock.map(choices.earned.contains) ?? true } ?? .orange
        flame = choices.flame.flatMap { choices.mayWear($0) ? $0 : nil } ?? best
    }
}

extension PublicRewards.Choices {
    /// Whether a flame was earned, or the plan gives it (CI-5).
    public func mayWear(_ flame: PublicRewards.Flame) -> Bool {
        isPremium || (flame.unlock.map(earned.contains) ?? true)
    }
}
