internal import Bus
internal import Kernel
internal import MediaAPI

/// The author of a post, for a report about it (SO-8). A hidden post is reported no more.
struct FindPostOwner: QueryHandler {
    let posts: PostRepository

    func handle(_ request: FindPostOwnerRequest, _: CallContext) async throws -> FindPostOwnerReply {
        FindPostOwnerReply(userID: try await posts.owner(of: request.postID))
    }
}
