internal import Bus
internal import Kernel
internal import MediaAPI

/// The author of a snap, for a report about it (SO-8).
struct FindSnapOwner: QueryHandler {
    let snaps: SnapRepository

    func handle(_ request: FindSnapOwnerRequest, _: CallContext) async throws -> FindSnapOwnerReply {
        FindSnapOwnerReply(userID: try await snaps.owner(of: request.snapID))
    }
}
