internal import Bus
internal import Kernel
internal import Replicas
internal import Runtime
internal import SocialAPI

extension SocialService {
    /// SO-3: pending requests, newest first; both directions unless one is asked for.
    func listFriendRequests(_ request: ListFriendRequestsRequest, context: CallContext) async throws -> ListFriendRequestsReply {
        let user = try context.requireUser()
        let limit = request.limit == 0 ? 50 : Int(request.limit)
        let page = try await friendships.list(
            of: user,
            state: .pending,
            before: try PageCursor(request.cursor),
            limit: limit + 1
        )
        let shown = page.prefix(limit)
        let people = try await profiles.profiles(shown.map { $0.other(than: user) }, context: context)
        let requests = shown.compactMap { stored -> FriendshipReply? in
            guard let other = people[stored.other(than: user)], other.isVisible else { return nil }
            let view = Self.view(stored, of: user, other)
            return request.direction == .unspecified || view.direction == request.direction ? view : nil
        }
        return ListFriendRequestsReply(requests: requests, meta: Self.meta(page, limit))
    }
}
