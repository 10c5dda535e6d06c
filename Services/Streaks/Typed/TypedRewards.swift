internal import Kernel
internal import Outbox
internal import Replicas
internal import StreaksCore
internal import StreaksDomain

/// What a change of a typed streak earns (TS-2). Billing posts each key once, so a date earns once, whatever is folded again.
struct TypedRewards: Sendable {
    enum Cause: String, Sendable {
        case day = "typed_day"
        case milestone = "typed_milestone"
    }

    let user: UserID
    let cause: Cause
    let key: String
    /// The date of the contribution.
    let date: CalendarDate
    let coins: Int
    /// A double day has made it more.
    let isHelpedByDouble: Bool
    let xp: XPEntry?
    let milestone: TypedReward?

    /// What these changes earn, in order.
    static func of(_ changes: [PlannedChange], _ work: UnitOfWork) async throws -> [TypedRewards] {
        let earning = changes.filter { change in change.change.effects.contains { $0.isEarning } }
        let dates = earning.flatMap { change in
            change.row.members.flatMap { user in change.change.effects.compactMap(\.earningDate).map { (user: user, date: $0) } }
        }
        let doubled = try await DoubleDays.doubled(dates, work.sql)
        var rewards: [TypedRewards] = []
        for change in earning {
            guard let user = change.row.members.first else { continue }
            let isPremium = try await EntitlementReplica().isPremium(user, now: change.now, work.sql)
            rewards += change.change.effects.compactMap { effect in
                guard let date = effect.earningDate else { return nil }
                let isDoubled = doubled.contains(DoubleDays.UserDate(user: user, date: date))
                return TypedRewards(effect, change.row.id, user, isPremium: isPremium, isDoubled: isDoubled)
            }
        }
        return rewards
    }

    private init?(_ effect: StreakEffect, _ streak: StreakID, _ user: UserID, isPremium: Bool, isDoubled: Bool) {
        switch effect {
        case .completed(let date, let count, _):
            let plain = CoinMultiplier(count: count, isPremium: isPremium, isDoubled: false)
            let full = CoinMultiplier(count: count, isPremium: isPremium, isDoubled: isDoubled)
            self.init(
                user: user,
                cause: .day,
                key: "typed_day:\(streak):\(date)",
                date: date,
                coins: full.coins,
                isHelpedByDouble: full.coins > plain.coins,
                xp: nil,
                milestone: nil
            )
        case .milestone(let count, let date, _, true):
            guard let reward = TypedReward(days: count) else { return nil }
            let key = "typed_milestone:\(streak):\(count)"
            self.init(
                user: user,
                cause: .milestone,
                key: key,
                date: date,
                coins: CoinMultiplier.milestone(reward.coins, isDoubled: isDoubled),
                isHelpedByDouble: isDoubled,
                xp: XPEntry(user, key: key, amount: reward.xp, cause: "typed_milestone"),
                milestone: reward
            )
        default: return nil
        }
    }

    private init(
        user: UserID,
        cause: Cause,
        key: String,
        date: CalendarDate,
        coins: Int,
        isHelpedByDouble: Bool,
        xp: XPEntry?,
        milestone: TypedReward?
    ) {
        (self.user, self.cause, self.key, self.date, self.coins) = (user, cause, key, date, coins)
        (self.isHelpedByDouble, self.xp, self.milestone) = (isHelpedByDouble, xp, milestone)
    }
}

extension StreakEffect {
    fileprivate var isEarning: Bool { earningDate != nil }

    /// The date that earns something by it.
    fileprivate var earningDate: CalendarDate? {
        switch self {
        case .completed(let date, _, _): date
        case .milestone(_, let date, _, true): date
        default: nil
        }
    }
}
