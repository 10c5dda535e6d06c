import CommonAPI
import Kernel
import SocialAPI
import StreaksAPI
import Synchronization

/// The counts of check-in streaks that `streaks` says, in its place.
final class PublicStreaks: Sendable {
    private let known = Mutex<[UserID: PublicStreak]>([:])
    private let refusing = Mutex<Set<UserID>>([])

    func set(_ streak: PublicStreak, of user: UserID) { known.withLock { $0[user] = streak } }
    /// Of this user nothing is said any more.
    func refuse(_ user: UserID) { refusing.withLock { _ = $0.insert(user) } }

    func find(_ request: GetPublicStreakRequest) throws -> PublicStreak {
        guard !refusing.withLock({ $0.contains(request.userID) }) else { throw ServiceError.internal }
        return known.withLock { $0[request.userID] } ?? PublicStreak()
    }
}

/// What `social` and `streaks` say that ended with an account, in their place: of which a test has said nothing they know nothing.
final class EndedItems: Sendable {
    private let known = Mutex<[UserID: EndedByDeletion]>([:])

    func set(_ ended: EndedByDeletion, of user: UserID) { known.withLock { $0[user] = ended } }

    func ties(_ request: CountEndedTiesRequest) -> CountEndedTiesReply {
        let ended = known.withLock { $0[request.userID] }
        return CountEndedTiesReply(friendships: ended?.friendships, circles: ended?.circles)
    }

    func streaks(_ request: CountEndedStreaksRequest) -> CountEndedStreaksReply {
        CountEndedStreaksReply(mutualStreaks: known.withLock { $0[request.userID] }?.mutualStreaks)
    }
}
