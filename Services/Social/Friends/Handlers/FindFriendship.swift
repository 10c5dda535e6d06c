internal import Bus
internal import Kernel
internal import Replicas
internal import SocialAPI
internal import SocialCore

/// Whether two users are friends now (MS-1). A block has ended the friendship; a suspended, banned or deleted user is shown as no friend.
struct FindFriendship: QueryHandler {
    let friendships: FriendshipRepository
    let profiles: ProfileReplica

    func handle(_ request: FindFriendshipRequest, _ context: CallContext) async throws -> FindFriendshipReply {
        let (user, friend) = (request.userID, request.friendID)
        guard friend != user, let stored = try await friendships.find(user, friend, friendships.database),
            stored.friendship.state == .accepted, try await profiles.profile(friend, context: context)?.isVisible == true
        else { throw ServiceError.notFound("friend") }
        return FindFriendshipReply(friendshipID: stored.id)
    }
}
