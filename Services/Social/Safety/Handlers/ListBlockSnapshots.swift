internal import Bus
internal import Kernel
internal import SocialAPI
internal import SocialCore

/// What a replica of the blocks starts from (D13). Ended ones too, so that an old event cannot bring one back.
struct ListBlockSnapshots: QueryHandler {
    let blocks: BlockRepository

    func handle(_ request: ListBlockSnapshotsRequest, _: CallContext) async throws -> ListBlockSnapshotsReply {
        let page = try await blocks.page(
            after: request.after ?? BlockID(high: 0, low: 0),
            limit: request.limit == 0 ? 200 : Int(request.limit)
        )
        return ListBlockSnapshotsReply(blocks: page.map(\.state))
    }
}
