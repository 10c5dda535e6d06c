package import Kernel
package import SocialAPI

extension FriendshipEnded {
    /// The event of the end of a friendship, whichever feature ended it; `streaks` ends the streak of the two.
    package init(_ stored: StoredFriendship, at now: Instant) {
        self.init(friendshipID: stored.id, userAID: stored.low, userBID: stored.high, endedAt: now)
    }
}
