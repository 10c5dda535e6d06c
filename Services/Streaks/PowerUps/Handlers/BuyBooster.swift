internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Buys an XP booster for XP (CI-6): the XP and the booster are one transaction.
struct BuyBooster: MutationHandler {
    let mutations: Mutations

    func handle(_ request: BuyBoosterRequest, _ context: CallContext) async throws -> Once<BuyBoosterReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { work in
            let id: OperationID = work.ids.make()
            let left = try await XPLedger.spend(
                XPRules.boosterPrice,
                by: user,
                key: "booster \(id)",
                cause: "xp_booster",
                work
            )
            try await GoodsStock.give(.boosterOfXP, to: user, work.sql)
            return BuyBoosterReply(
                held: try await GoodsStock.count(of: .boosterOfXP, of: user, work.sql),
                xpSpent: Int32(XPRules.boosterPrice),
                xpLeft: left
            )
        }
    }
}
