internal import Kernel
package import Outbox
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// What changes of check-in streaks bring, in the transaction of the change, whichever handler or job makes it: XP and coins of milestones
/// (CI-5), the log of freezes (CI-2), and what a repair was paid with when it was not needed (CI-3).
package struct CheckInFollower: StreakFollower {
    package init() {}

    package func follow(_ all: [PlannedChange], _: Urgency, _ work: UnitOfWork) async throws {
        var (reached, spent): ([CheckInRepository.Reached], [CheckInRepository.Freeze]) = ([], [])
        var (returned, repairs): ([(user: UserID, date: CalendarDate)], [OperationID]) = ([], [])
        for change in all where change.row.kind == .checkIn {
            guard let user = change.row.members.first else { continue }
            for effect in change.change.lastingEffects {
                switch effect {
                case .milestone(let count, let date, _, isFirst: true):
                    reached.append(CheckInRepository.Reached(user: user, days: count, date: date))
                case .freezeSpent(let date, let count, _, let byHand):
                    spent.append(CheckInRepository.Freeze(user: user, date: date, isByHand: byHand, count: count))
                case .freezeReturned(let date): returned.append((user, date))
                case .coverReturned(_, _, _, let id?, _): repairs.append(id)
                default: break
                }
            }
        }
        try await CheckInRepository.giveBack(returned, at: work.now, work.sql)
        try await CheckInRepository.add(Self.latest(spent), at: work.now, work.sql)
        try CheckInRepository.add(reached, at: work.now, work.sql)
        try XPLedger.post(reached.compactMap(Self.xp), work)
        for repair in repairs { try await giveBack(repair, work) }
        let coins = try await CheckInCoins.of(all, work)
        for earned in coins where earned.isDoubled { try await DoubleDays.setHelped(earned.user, on: earned.date, work.sql) }
        try await work.emit(coins.map(\.event))
    }

    private static func xp(_ reached: CheckInRepository.Reached) -> XPEntry? {
        CelebratedCheckIn.of(reached.days).map { milestone in
            XPEntry(reached.user, key: "milestone:check_in:\(reached.days)", amount: milestone.xp, cause: "milestone")
        }
    }

    /// Of several of one date the last: a row can be written once by a statement.
    private static func latest(_ freezes: [CheckInRepository.Freeze]) -> [CheckInRepository.Freeze] {
        var known: Set<String> = []
        return freezes.reversed().filter { known.insert("\($0.user) \($0.date)").inserted }
    }

    /// Money comes back as a repair credit, coins as coins, XP as XP, premium's free one as itself.
    private func giveBack(_ operation: OperationID, _ work: UnitOfWork) async throws {
        guard let back = try await PaymentRepository.giveBack(operation, at: work.now, work.sql) else { return }
        let user = back.user
        switch back.method {
        case "free_pro_repair": break
        case "coins" where back.milli >= 1000:
            let key = "repair_refund:\(operation)"
            try await work.emit([
                CoinsEarned(userID: user, amount: back.milli / 1000, cause: "repair_refund", key: key, at: work.now)
            ])
        case "xp":
            try XPLedger.post(
                [XPEntry(user, key: "refund:\(operation)", amount: XPRules.repairPrice, cause: "refund")],
                raisesLevel: false,
                work
            )
        default: try await GoodsStock.give(.repair, to: user, work.sql)
        }
    }
}

/// The coins of milestones of the check-in streak (CI-5): twice as many on a double day (TS-2).
struct CheckInCoins: Sendable {
    let user: UserID
    let streak: StreakID
    let count: Int
    let date: CalendarDate
    let at: Instant
    let amount: Int
    /// A double day has made it more.
    let isDoubled: Bool

    /// What these changes earn, in order; each milestone of a streak once.
    static func of(_ changes: [PlannedChange], _ work: UnitOfWork) async throws -> [CheckInCoins] {
        let earning = changes.filter { $0.row.kind == .checkIn }.flatMap { change in
            change.change.effects.compactMap { effect -> CheckInCoins? in
                guard let user = change.row.members.first, case .milestone(let count, let date, _, isFirst: true) = effect,
                    let coins = CelebratedCheckIn.of(count)?.coins, coins > 0
                else { return nil }
                return CheckInCoins(
                    user: user,
                    streak: change.row.id,
                    count: count,
                    date: date,
                    at: change.change.state.asOf,
                    amount: coins,
                    isDoubled: false
                )
            }
        }
        let doubled = try await DoubleDays.doubled(earning.map { (user: $0.user, date: $0.date) }, work.sql)
        return earning.map { coins in
            doubled.contains(DoubleDays.UserDate(user: coins.user, date: coins.date)) ? coins.doubled : coins
        }
    }

    private var doubled: CheckInCoins {
        CheckInCoins(
            user: user,
            streak: streak,
            count: count,
            date: date,
            at: at,
            amount: CoinMultiplier.milestone(amount, isDoubled: true),
            isDoubled: true
        )
    }

    var event: CoinsEarned {
        CoinsEarned(
            userID: user,
            amount: Int64(amount),
            cause: "check_in_milestone",
            key: "check_in_milestone:\(streak):\(count)",
            at: at
        )
    }
}
