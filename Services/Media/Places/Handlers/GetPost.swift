internal import Bus
internal import Kernel
internal import MediaAPI

/// One post (PL-2). A post that the reader may not see is answered as if there were none (PF-2).
struct GetPost: QueryHandler {
    let posts: PostRepository
    let views: PostViews

    func handle(_ request: GetPostRequest, _ context: CallContext) async throws -> GetPostReply {
        let reader = context.reader
        guard let post = try await posts.find(request.postID, for: reader) else { throw ServiceError.notFound("post") }
        return GetPostReply(post: try await views.views([post], for: reader, context).first)
    }
}
