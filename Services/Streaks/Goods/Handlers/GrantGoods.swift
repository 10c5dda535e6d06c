internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksDomain

/// BI-5: adds what was bought to a user's stock. A repeat of an operation adds nothing, however late it comes.
struct GrantGoods: MutationHandler {
    let mutations: Mutations

    func handle(_ request: GrantGoodsRequest, _ context: CallContext) async throws -> Once<GrantGoodsReply> {
        let goods = request.goods.map(\.good)
        guard goods.allSatisfy({ StreakGood(rawValue: $0) != nil }), Set(goods).count == goods.count,
            request.goods.allSatisfy({ $0.count > 0 })
        else { throw ServiceError.unknownGood }
        return try await mutations.once(operation: request.operationID, of: request.userID, context, request) { work in
            try await GoodsRepository.grant(request.operationID, to: request.userID, request.goods, work.sql)
            return .success(GrantGoodsReply(stock: try await GoodsRepository.stock(of: request.userID, goods, work.sql)))
        }
    }
}

extension ServiceError {
    fileprivate static let unknownGood = ServiceError(
        .invalidArgument,
        "UNKNOWN_GOOD",
        "Goods are named once each, with a count above 0."
    )
}
