internal import Bus
internal import Kernel
internal import SocialAPI
internal import SocialCore

/// What has become of friend requests, in one round trip for a page of notifications (NO-4).
struct GetRequestStates: QueryHandler {
    let friendships: FriendshipRepository

    func handle(_ request: GetRequestStatesRequest, _ context: CallContext) async throws -> GetRequestStatesReply {
        let stored = try await friendships.find(request.friendshipIDs, of: request.userID)
        return GetRequestStatesReply(
            friendships: stored.map {
                FriendshipStateEntry(friendshipID: $0.id, status: FriendshipStatus(rawValue: $0.friendship.state.rawValue))
            }
        )
    }
}
