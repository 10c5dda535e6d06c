internal import Bus
internal import Kernel
internal import SocialAPI
internal import SocialCore

/// The ids of a user's friends, for leaderboards (CI-7): one statement, without profiles.
struct ListFriendIDs: QueryHandler {
    /// More than any person has; a bound for the reply.
    private static let most = 5_000

    let friendships: FriendshipRepository

    func handle(_ request: ListFriendIDsRequest, _: CallContext) async throws -> ListFriendIDsReply {
        ListFriendIDsReply(friendIDs: try await friendships.friends(of: request.userID, limit: Self.most))
    }
}
