internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI
internal import StreaksCore

/// BI-5: takes the goods of a refunded purchase back, as far as they are unused. Each operation is answered once.
struct TakeBackGoods: MutationHandler {
    let freezes: BoughtFreezes
    let shields: BoughtShields
    let mutations: Mutations

    func handle(_ request: TakeBackGoodsRequest, _ context: CallContext) async throws -> Once<TakeBackGoodsReply> {
        try await mutations.once(operation: request.operationID, of: request.userID, context, request) {
            [freezes, shields] work in
            var reply = TakeBackGoodsReply()
            let grants = try await GoodsGrants.lock(request.grantID, of: request.userID, work.sql)
            for grant in grants.sorted(by: { $0.good.lockOrder < $1.good.lockOrder }) {
                var taken = grant.taken
                if grant.takenBy == nil {
                    taken =
                        switch grant.good {
                        case .freeze:
                            try await freezes.take(upTo: grant.granted, from: request.userID, request.operationID, work)
                        case .shield: try await shields.take(upTo: grant.granted, from: request.userID, work)
                        default: try await GoodsStock.take(upTo: grant.granted, of: grant.good, from: request.userID, work.sql)
                        }
                    try await GoodsGrants.setTaken(
                        taken,
                        of: grant.good,
                        grantedBy: request.grantID,
                        by: request.operationID,
                        work.sql
                    )
                }
                let good = grant.good.rawValue
                if taken > 0 { reply.taken.append(GoodCount(good: good, count: taken)) }
                if taken < grant.granted { reply.missing.append(GoodCount(good: good, count: grant.granted - taken)) }
            }
            return .success(reply)
        }
    }
}
