internal import Bus
internal import Kernel
internal import MediaAPI

extension MediaService {
    /// SO-8: whom a report about a snap is about.
    func findSnapOwner(_ request: FindSnapOwnerRequest, context _: CallContext) async throws -> FindSnapOwnerReply {
        let owner = try await snaps.owner(of: try SnapID(parsing: request.snapID, field: "snap_id"))
        return FindSnapOwnerReply(userID: owner?.description)
    }
}
