/// What a user can earn once, for ever, with streaks of their own (CI-5). The raw value is the one in SQL and in the API and never changes.
public enum Badge: String, CaseIterable, Hashable, Sendable {
    case freshStart = "fresh_start"
    case gettingStarted = "getting_started"
    case weekWarrior = "week_warrior"
    case fortnightChampion = "fortnight_champion"
    case threeWeeksStrong = "three_weeks_strong"
    case monthlyMaster = "monthly_master"
    case sixWeeksElite = "six_weeks_elite"
    case halfwayHero = "halfway_hero"
    case sixtyDayAchiever = "sixty_day_achiever"
    case ninetyDayLegend = "ninety_day_legend"
    case centurion = "centurion"
    case diamondTier = "diamond_tier"
    case eliteStatus = "elite_status"
    case annualLegend = "annual_legend"
    case streakGod = "streak_god"
    case infiniteCommitment = "infinite_commitment"
    case secondChance = "second_chance"
    case iceWarrior = "ice_warrior"
    case investor = "investor"
    case socialButterfly = "social_butterfly"
    case perfectMonth = "perfect_month"
    case consistency = "consistency"

    /// The check-in count that earns it; nil for the special ones.
    public var count: Int? {
        switch self {
        case .freshStart: 1
        case .gettingStarted: 3
        case .weekWarrior: 7
        case .fortnightChampion: 14
        case .threeWeeksStrong: 21
        case .monthlyMaster: 30
        case .sixWeeksElite: 42
        case .halfwayHero: 50
        case .sixtyDayAchiever: 60
        case .ninetyDayLegend: 90
        case .centurion: 100
        case .diamondTier: 180
        case .eliteStatus: 270
        case .annualLegend: 365
        case .streakGod: 500
        case .infiniteCommitment: 730
        case .secondChance, .iceWarrior, .investor, .socialButterfly, .perfectMonth, .consistency: nil
        }
    }

    /// The friends that Social Butterfly asks for, and the count each of the streaks with them must reach.
    public static let friendsNeeded = 5
    public static let friendStreakNeeded = 30

    /// The number that earns it, in `Progress`.
    public var target: Int {
        if let count { return count }
        switch self {
        case .iceWarrior: return 10
        case .investor: return 25
        case .socialButterfly: return Self.friendsNeeded
        case .consistency: return 100
        default: return 1
        }
    }

    /// What a user has done so far.
    public struct Progress: Hashable, Sendable {
        /// The longest count their check-in streak ever had.
        public var longest = 0
        /// Freezes spent on missed dates and not given back.
        public var freezesUsed = 0
        public var freezesBought = 0
        /// Friends with whom a streak once reached 30.
        public var longFriendStreaks = 0
        /// The count of the present check-in run while no freeze was spent in it; else 0.
        public var runWithoutFreeze = 0

        public init() {}
    }

    /// How much of it is done: 0…`target`.
    public func progress(_ done: Progress) -> Int {
        let value =
            switch self {
            case .secondChance, .perfectMonth: 0
            case .iceWarrior: done.freezesUsed
            case .investor: done.freezesBought
            case .socialButterfly: done.longFriendStreaks
            case .consistency: done.runWithoutFreeze
            default: done.longest
            }
        return min(max(value, 0), target)
    }

    /// The badges of counts above `before`, up to `after`: what a check-in streak earns whose longest count grew.
    public static func earned(from before: Int, to after: Int) -> [Badge] {
        guard after > before else { return [] }
        return allCases.filter { badge in badge.count.map { before < $0 && $0 <= after } ?? false }
    }

    /// Whether a check-in may have brought a badge of no count: by a month that it completed, with freezes spent or given back, and in long runs.
    ///
    /// - Parameter completed: the weeks and months that it completed.
    public static func mayBeSpecial(_ effects: [StreakEffect], completed: [PerfectPeriods.Period]) -> Bool {
        if completed.contains(where: { $0.kind == .month }) { return true }
        return effects.contains { effect in
            switch effect {
            case .freezeSpent, .freezeReturned, .restored: true
            case .completed(_, let count, _): count == Badge.consistency.target
            default: false
            }
        }
    }

    /// The one that a leaderboard shows: of the highest count (CI-7).
    public static func highest(of badges: some Sequence<Badge>) -> Badge? {
        badges.filter { $0.count != nil }.max { ($0.count ?? 0) < ($1.count ?? 0) }
    }
}

/// What is shown of it.
extension Badge {
    public var title: String {
        switch self {
        case .freshStart: "Fresh Start"
        case .gettingStarted: "Getting Started"
        case .weekWarrior: "Week Warrior"
        case .fortnightChampion: "Fortnight Champion"
        case .threeWeeksStrong: "Three Weeks Strong"
        case .monthlyMaster: "Monthly Master"
        case .sixWeeksElite: "Six Weeks Elite"
        case .halfwayHero: "Halfway to 100"
        case .sixtyDayAchiever: "60-Day Achiever"
        case .ninetyDayLegend: "90-Day Legend"
        case .centurion: "Centurion"
        case .diamondTier: "Diamond Tier"
        case .eliteStatus: "Elite Status"
        case .annualLegend: "Annual Legend"
        case .streakGod: "Streak God"
        case .infiniteCommitment: "Infinite Commitment"
        case .secondChance: "Second Chance"
        case .iceWarrior: "Ice Warrior"
        case .investor: "Investor"
        case .socialButterfly: "Social Butterfly"
        case .perfectMonth: "Perfect Month"
        case .consistency: "Consistency King/Queen"
        }
    }

    /// What earns it.
    public var summary: String {
        switch self {
        case .freshStart: "Complete day 1"
        case .secondChance: "Repaired a streak"
        case .iceWarrior: "Used 10 streak freezes"
        case .investor: "Purchased 25 streak freezes"
        case .socialButterfly: "30-day friend streak with 5 friends"
        case .perfectMonth: "Checked in on every day of a calendar month"
        case .consistency: "100-day streak with no freeze used"
        default: "Complete \(target) consecutive days"
        }
    }

    public var icon: String {
        switch self {
        case .freshStart: "🌱"
        case .gettingStarted, .streakGod: "🔥"
        case .weekWarrior: "⚡"
        case .fortnightChampion: "💪"
        case .threeWeeksStrong: "🏃"
        case .monthlyMaster: "🏆"
        case .sixWeeksElite: "🎖️"
        case .halfwayHero: "🥈"
        case .sixtyDayAchiever: "🔓"
        case .ninetyDayLegend: "🌟"
        case .centurion: "🥇"
        case .diamondTier: "💎"
        case .eliteStatus: "👑"
        case .annualLegend: "🏅"
        case .infiniteCommitment: "♾️"
        case .secondChance: "🔄"
        case .iceWarrior: "🧊"
        case .investor: "💰"
        case .socialButterfly: "🤝"
        case .perfectMonth: "📅"
        case .consistency: "🎯"
        }
    }

    /// starter, intermediate, advanced, expert, legendary or special.
    public var tier: String {
        switch count {
        case nil: "special"
        case .some(...7): "starter"
        case .some(...30): "intermediate"
        case .some(...99): "advanced"
        case .some(...364): "expert"
        default: "legendary"
        }
    }
}
