internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialCore
internal import SocialDomain

/// Ends a friendship (SO-4), or withdraws the caller's pending request (SO-2). The reply comes when `streaks` has
/// ended the streak of the two: no photo of either reaches the other from then on.
struct RemoveFriend: MutationHandler {
    let friendships: FriendshipRepository
    let mutations: Mutations

    func handle(_ request: RemoveFriendRequest, _ context: CallContext) async throws -> Once<RemoveFriendReply> {
        let user = try context.requireUser()
        let id = request.friendshipID
        return try await mutations.once(context, request, protecting: user) { [friendships] work in
            guard let stored = try await friendships.lock(id, work.sql), stored.involves(user) else {
                throw ServiceError.notFound("friendship")
            }
            var friendship = stored.friendship
            let change = try friendship.remove(by: user, now: work.now)
            if change != .none {
                try friendships.update(stored, to: friendship, id: id, createdAt: stored.createdAt, work.sql)
            }
            if change == .ended { try await work.emit(FriendshipEnded(stored, at: work.now)) }
            return RemoveFriendReply(friendshipID: id, status: FriendshipStatus(rawValue: friendship.state.rawValue))
        }
    }
}
