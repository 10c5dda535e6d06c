internal import Bus
internal import Kernel
internal import SocialAPI

extension SocialService {
    /// D13: what a replica of the blocks starts from. Ended ones too, so that an old event cannot bring one back.
    func listBlockSnapshots(_ request: ListBlockSnapshotsRequest, context _: CallContext) async throws -> ListBlockSnapshotsReply
    {
        let after = request.after.isEmpty ? BlockID(high: 0, low: 0) : try BlockID(parsing: request.after, field: "after")
        let page = try await blocks.page(after: after, limit: request.limit == 0 ? 200 : Int(request.limit))
        return ListBlockSnapshotsReply(blocks: page.map(\.state))
    }
}
