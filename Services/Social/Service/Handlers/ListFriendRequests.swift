internal import Bus
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI

extension SocialService {
    /// SO-3: pending requests, newest first; both directions unless one is asked for.
    func listFriendRequests(_ request: ListFriendRequestsRequest, context: CallContext) async throws -> ListFriendRequestsReply {
        let user = try context.requireUser()
        let asker: FriendshipRepository.Asker =
            switch request.direction {
            case .incoming: .other
            case .outgoing: .user
            default: .either
            }
        let scope = CursorScope("social.ListFriendRequests", of: user, filters: ["\(asker)"])
        let page = try await page(of: user, .pending, asker: asker, limit: request.limit, cursor: request.cursor, scope)
        let people = try await profiles.profiles(page.shown.map { $0.other(than: user) }, context: context)
        let requests = page.shown.compactMap { stored -> FriendshipReply? in
            guard let other = people[stored.other(than: user)], other.isVisible else { return nil }
            return Self.view(stored, of: user, other)
        }
        return ListFriendRequestsReply(requests: requests, meta: page.meta)
    }
}
