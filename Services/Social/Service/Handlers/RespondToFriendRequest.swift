internal import Bus
internal import Kernel
internal import Outbox
internal import SocialAPI
internal import SocialDomain

extension SocialService {
    /// SO-2. Declining one's own request withdraws it. Accepting is committed with its event first; the streak is started by whoever comes first, this call or the event.
    func respondToFriendRequest(_ request: RespondToFriendRequestRequest, context: CallContext) async throws -> FriendshipReply {
        let user = try context.requireUser()
        if let reply: FriendshipReply = try await mutations.replay(context, request) { return reply }
        let id = try FriendshipID(parsing: request.friendshipID, field: "friendship_id")
        // Who it is is asked before the transaction: inside, waiting for another connection could be waiting for oneself.
        guard let seen = try await friendships.find(id), seen.involves(user),
            let other = try await profiles.profile(seen.other(than: user), context: context), other.isVisible
        else { throw ServiceError.notFound("friend request") }
        return try await mutations.run(context, request, completedBy: { try await withStreak($0, user: user, context) }) {
            [self] work in
            guard let stored = try await friendships.lock(id, work.sql), stored.involves(user) else {
                throw ServiceError.notFound("friend request")
            }
            var friendship = stored.friendship
            let change =
                request.action == .accept
                ? try friendship.accept(by: user, now: work.now) : try friendship.decline(by: user, now: work.now)
            if change != .none {
                try await friendships.update(stored, to: friendship, id: id, createdAt: stored.createdAt, work.sql)
            }
            if change == .accepted { try await work.emit(Self.accepted(id, friendship, accepter: user)) }
            return Self.view(
                StoredFriendship(id: id, low: stored.low, high: stored.high, createdAt: stored.createdAt, friendship: friendship),
                of: user,
                other
            )
        }
    }
}
