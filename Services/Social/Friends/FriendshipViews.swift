internal import Kernel
internal import Replicas
internal import SocialAPI
internal import SocialCore
internal import SocialDomain

extension FriendshipReply {
    /// A friendship as `user` sees it.
    init(_ stored: StoredFriendship, of user: UserID, _ other: Profile) {
        self.init(
            friendshipID: stored.id,
            status: FriendshipStatus(rawValue: stored.friendship.state.rawValue),
            direction: stored.friendship.requester == user ? .outgoing : .incoming,
            user: other.summary,
            createdAt: stored.createdAt
        )
    }
}

extension FriendshipAccepted {
    /// The event of an acceptance. `streaks` starts the streak of the two, unless it has been asked before.
    init(_ id: FriendshipID, _ friendship: Friendship, accepter: UserID) {
        self.init(
            friendshipID: id,
            requesterID: friendship.requester,
            accepterID: accepter,
            acceptedAt: friendship.since
        )
    }
}
