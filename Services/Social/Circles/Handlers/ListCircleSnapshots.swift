internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// What a replica of the circles starts from (D13). Deleted ones too, so that an old event cannot bring one back.
struct ListCircleSnapshots: QueryHandler {
    let circles: CircleRepository

    func handle(_ request: ListCircleSnapshotsRequest, _: CallContext) async throws -> ListCircleSnapshotsReply {
        let page = try await circles.page(
            after: request.after ?? CircleID(high: 0, low: 0),
            limit: request.limit == 0 ? 100 : Int(request.limit),
            only: request.circleID
        )
        return ListCircleSnapshotsReply(circles: page.map(\.state))
    }
}
