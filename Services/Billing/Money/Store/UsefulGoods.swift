internal import Bus
internal import Kernel
internal import StreaksAPI

/// Whether goods would be of use to a user now, as `streaks` sees it: asked before coins are spent (BI-5).
struct UsefulGoods: Sendable {
    let goods: GoodsClient

    /// Why the first of these goods that could not be used cannot.
    func refusal(of goods: [(good: String, count: Int32)], for user: UserID, _ context: CallContext) async throws -> ServiceError?
    {
        guard !goods.isEmpty else { return nil }
        let checks = try await checks(goods, user, context)
        return checks.compactMap { check in
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

    /// Reasons by good, for a list; empty when it cannot be asked for.
    func reasons(of goods: [(good: String, count: Int32)], for user: UserID, _ context: CallContext) async -> [String: String] {
        guard !goods.isEmpty, let checks = try? await checks(goods, user, context.child(timeout: .seconds(1))) else { return [:] }
        return Dictionary(checks.compactMap { check in check.refused.map { (check.good, $0) } }) { first, _ in first }
    }

    private func checks(_ goods: [(good: String, count: Int32)], _ user: UserID, _ context: CallContext) async throws
        -> [GoodCheck]
    {
        let request = CheckGoodsRequest(userID: user, goods: goods.map { GoodCount(good: $0.good, count: $0.count) })
        return try await self.goods.checkGoods(request, context: context).goods
    }
}
