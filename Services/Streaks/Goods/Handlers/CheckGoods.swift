internal import Bus
internal import Kernel
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// Whether goods could be taken and used now (BI-5).
struct CheckGoods: QueryHandler {
    let check: GoodsCheck
    let boughtShield: BoughtShield
    let clock: any Clock

    func handle(_ request: CheckGoodsRequest, _: CallContext) async throws -> CheckGoodsReply {
        let now = clock.now()
        var reply = CheckGoodsReply()
        for (good, count) in try request.goods.checked() {
            let refusal = try await check.refusal(of: good, count, for: request.userID, now: now)
            reply.goods.append(
                GoodCheck(
                    good: good.rawValue,
                    count: count,
                    refused: refusal?.reason,
                    message: refusal?.message ?? "",
                    needsUse: PowerUp.needsUse(good, armsShields: boughtShield == .armed),
                    description: PowerUp.text(good, armsShields: boughtShield == .armed),
                    streaks: try await check.streaks(for: good, of: request.userID)
                )
            )
        }
        return reply
    }
}
