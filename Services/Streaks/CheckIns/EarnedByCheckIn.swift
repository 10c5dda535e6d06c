internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Everything that a check-in earned, as its reply shows it: the highest milestone, and the rewards of all milestones (CI-5).
struct EarnedByCheckIn: Sendable {
    /// Ascending; each for the first time.
    let milestones: [CelebratedCheckIn]
    /// Of the check-in and of perfect weeks and months; those of the milestones not counted.
    let xp: Int
    /// Of the milestones.
    let coins: Int
    /// Freezes that came into hand.
    let freezes: Int
    /// Those of counts, and the special ones.
    private let badges: [Badge]

    /// - Parameter special: badges that are of no count.
    init(_ written: PlannedChange, xp: Int, coins: Int, special: [Badge]) {
        (self.xp, self.coins) = (xp, coins)
        let effects = written.change.effects
        milestones = effects.compactMap { effect -> CelebratedCheckIn? in
            if case .milestone(let count, _, _, isFirst: true) = effect { return CelebratedCheckIn.of(count) }
            return nil
        }.sorted { $0.days < $1.days }
        freezes = effects.reduce(0) { sum, effect in
            if case .freezeEarned(_, _, _, _, _, let granted) = effect { return sum + granted }
            return sum
        }
        badges = Badge.earned(from: written.change.before.longest, to: written.change.state.longest) + special
    }

    private var milestoneXP: Int { milestones.reduce(0) { $0 + $1.xp } }
    /// With those of the milestones.
    var allXP: Int { xp + milestoneXP }

    var view: ReachedMilestone {
        let highest = milestones.last
        return ReachedMilestone(
            achieved: highest != nil,
            milestoneType: highest?.type,
            title: highest?.title,
            message: highest?.message,
            rewards: CheckInRewards(
                xp: Int32(milestoneXP),
                badges: badges.map(\.rawValue),
                streakFreezes: Int32(freezes),
                unlocks: milestones.flatMap(\.unlocks),
                coins: Int32(coins)
            )
        )
    }
}
