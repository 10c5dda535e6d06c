internal import BlobStore
internal import Bus
internal import Kernel
internal import MediaAPI

/// Posts for the moderators' queue, hidden ones and those of blocked authors too (SO-9).
struct ListReportedPosts: QueryHandler {
    let posts: PostRepository
    let views: PostViews

    func handle(_ request: ListReportedPostsRequest, _ context: CallContext) async throws -> ListReportedPostsReply {
        let found = try await posts.all(request.postIDs)
        return ListReportedPostsReply(posts: try await views.views(found, for: nil, viewer: .moderators, context))
    }
}
