internal import Bus
internal import Kernel
internal import StreaksAPI

/// Whether goods would be of use to a user now, as `streaks` sees it: asked before coins are spent (BI-5).
struct UsefulGoods: Sendable {
    let goods: GoodsClient

    /// What `streaks` says of each of these goods.
    func checks(of goods: [(good: String, count: Int32)], for user: UserID, _ context: CallContext) async throws -> [GoodCheck] {
        guard !goods.isEmpty else { return [] }
        let request = CheckGoodsRequest(userID: user, goods: goods.map { GoodCount(good: $0.good, count: $0.count) })
        return try await self.goods.checkGoods(request, context: context).goods
    }

    /// The same by good, for a list; empty when it cannot be asked for.
    func known(of goods: [(good: String, count: Int32)], for user: UserID, _ context: CallContext) async -> [String: GoodCheck] {
        let checks = (try? await checks(of: goods, for: user, context.child(timeout: .seconds(1)))) ?? []
        return checks.byGood
    }
}

extension [GoodCheck] {
    /// Why the first of the goods that could not be used cannot.
    var refusal: ServiceError? {
        lazy.compactMap { check in
            check.refused.map { reason in
                ServiceError(
                    .failedPrecondition,
                    reason,
                    check.message,
                    details: [ServiceError.Detail(field: "item", message: check.message)]
                )
            }
        }.first
    }

    var byGood: [String: GoodCheck] { Dictionary(map { ($0.good, $0) }) { first, _ in first } }
}
