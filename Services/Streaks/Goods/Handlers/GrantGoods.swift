internal import Bus
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore
internal import StreaksDomain

/// BI-5: gives what was bought: freezes and shields to the check-in streak, everything else to the stock. A repeat of an operation gives nothing, however
/// late it comes.
struct GrantGoods: MutationHandler {
    let freezes: BoughtFreezes
    let shields: BoughtShields
    let profiles: ProfileReplica
    let mutations: Mutations

    func handle(_ request: GrantGoodsRequest, _ context: CallContext) async throws -> Once<GrantGoodsReply> {
        // A streak is locked before the stock.
        let goods = try request.goods.checked().sorted {
            ($0.good.lockOrder, $0.good.rawValue) < ($1.good.lockOrder, $1.good.rawValue)
        }
        // Freezes may begin the check-in streak: the zone must be known.
        if goods.contains(where: { $0.good == .freeze }) { _ = try await profiles.profiles([request.userID], context: context) }
        // Not what makes it another request: a replica of before does not know it.
        var named = request
        named.obtainedAt = nil
        return try await mutations.once(operation: request.operationID, of: request.userID, context, named) {
            [freezes, shields] work in
            for (good, count) in goods {
                guard try await GoodsGrants.add(request.operationID, to: request.userID, good, count, work.sql) else { continue }
                switch good {
                case .freeze:
                    let refusal = try await freezes.grant(
                        count,
                        to: request.userID,
                        request.operationID,
                        obtainedAt: request.obtainedAt,
                        keepsCredit: request.keepsCredit,
                        work
                    )
                    if let refusal { throw refusal }
                case .shield: try await shields.grant(count, to: request.userID, obtainedAt: request.obtainedAt, work)
                default: try await GoodsStock.give(good, count, to: request.userID, work.sql)
                }
            }
            let stock = try await GoodsStock.all(of: request.userID, work.sql)
            return .success(GrantGoodsReply(stock: goods.map { GoodCount(good: $0.good.rawValue, count: stock[$0.good] ?? 0) }))
        }
    }
}

extension StreakGood {
    /// Freezes and shields are kept by the check-in streak, which is locked before the stock.
    var lockOrder: Int { self == .freeze || self == .shield ? 0 : 1 }
}

extension [GoodCount] {
    /// Known goods, each once, with a count above 0.
    ///
    /// - Throws: `UNKNOWN_GOOD`.
    func checked() throws(ServiceError) -> [(good: StreakGood, count: Int32)] {
        let known = compactMap { entry in StreakGood(rawValue: entry.good).map { (good: $0, count: entry.count) } }
        guard known.count == count, Set(known.map(\.good)).count == count, known.allSatisfy({ $0.count > 0 }) else {
            throw ServiceError(.invalidArgument, "UNKNOWN_GOOD", "Goods are named once each, with a count above 0.")
        }
        return known
    }
}
