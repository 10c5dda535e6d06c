internal import Bus
internal import Kernel
internal import SocialAPI

extension SocialService {
    /// MS-1. A block has ended the friendship; somebody suspended, banned or deleted is nobody's friend to be seen.
    func findFriendship(_ request: FindFriendshipRequest, context: CallContext) async throws -> FindFriendshipReply {
        let user = try UserID(parsing: request.userID, field: "user_id")
        let friend = try UserID(parsing: request.friendID, field: "friend_id")
        guard friend != user, let stored = try await friendships.find(user, friend, friendships.database),
            stored.friendship.state == .accepted, try await profiles.profile(friend, context: context)?.isVisible == true
        else { throw ServiceError.notFound("friend") }
        return FindFriendshipReply(friendshipID: stored.id.description)
    }
}
