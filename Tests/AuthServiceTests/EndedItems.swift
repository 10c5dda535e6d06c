import CommonAPI
import Kernel
import SocialAPI
import StreaksAPI
import Synchronization

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
