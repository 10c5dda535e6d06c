internal import Bus
internal import Kernel
internal import MediaAPI
internal import ServiceRuntime

/// Posts of an area or an author (PL-2).
struct ListPosts: QueryHandler {
    let lists: PostListRepository
    let views: PostViews

    func handle(_ request: ListPostsRequest, _ context: CallContext) async throws -> ListPostsReply {
        let reader = context.reader
        let search = try PostSearch(request, reader: reader)
        let page = try Page<PostPlace>(forGuestsToo: request, context)
        let found = try await lists.posts(search, for: reader, after: page.position, limit: page.limit + 1)
        let (shown, meta) = page.entries(found, after: \.place)
        return ListPostsReply(posts: try await views.views(shown.map(\.post), for: reader, context), meta: meta)
    }

    func problems(of request: ListPostsRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { _ = try PostSearch(request) } + request.placeProblems
    }
}
