internal import Bus
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialCore

/// Pending friend requests of a user, newest first; both directions unless one is asked for (SO-3).
struct ListFriendRequests: QueryHandler {
    let friendships: FriendshipRepository
    let profiles: ProfileReplica

    func handle(_ request: ListFriendRequestsRequest, _ context: CallContext) async throws -> ListFriendRequestsReply {
        let user = try context.requireUser()
        let page = try Page<PageCursor>(request, context)
        let asker: FriendshipRepository.Asker =
            switch request.direction {
            case .incoming: .other
            case .outgoing: .user
            default: .either
            }
        let found = try await friendships.list(
            of: user,
            state: .pending,
            asker: asker,
            before: page.position,
            limit: page.limit + 1
        )
        let (shown, meta) = page.entries(found) { PageCursor(after: $0.friendship.since, $0.id) }
        let others = try await profiles.profiles(shown.map { $0.other(than: user) }, context: context)
        let requests = shown.compactMap { stored -> FriendshipReply? in
            guard let other = others[stored.other(than: user)], other.isVisible else { return nil }
            return FriendshipReply(stored, of: user, other)
        }
        return ListFriendRequestsReply(requests: requests, meta: meta)
    }
}
