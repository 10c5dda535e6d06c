internal import Bus
internal import Database
internal import Kernel
internal import ServiceRuntime
internal import SocialAPI
internal import SocialDomain

/// The caller's posts that others do not see, and why: the reasons of their reports, never who filed them (SO-8, SO-9).
struct ListHiddenPosts: QueryHandler {
    private static let most = 100

    let database: Database

    func handle(_ request: ListHiddenPostsRequest, _ context: CallContext) async throws -> ListHiddenPostsReply {
        let user = try context.requireUser()
        return ListHiddenPostsReply(
            posts: try await PostStandingRepository.hidden(of: user, limit: Self.most, database).map { post in
                HiddenPost(
                    postID: post.id,
                    removed: post.isRemoved,
                    hiddenAt: post.hiddenAt,
                    reasons: post.reasons.map { ReportReason(rawValue: $0) },
                    decided: post.isDecided
                )
            }
        )
    }
}
