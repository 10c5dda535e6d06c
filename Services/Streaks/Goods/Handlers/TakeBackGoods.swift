internal import Bus
internal import Kernel
internal import ServiceRuntime
internal import StreaksAPI

/// BI-5: takes the goods of a refunded purchase back, as far as they are unused. Each operation is answered once.
struct TakeBackGoods: MutationHandler {
    let mutations: Mutations

    func handle(_ request: TakeBackGoodsRequest, _ context: CallContext) async throws -> Once<TakeBackGoodsReply> {
        try await mutations.once(operation: request.operationID, of: request.userID, context, request) { work in
            .success(try await GoodsRepository.takeBack(request.operationID, request.grantID, from: request.userID, work.sql))
        }
    }
}
