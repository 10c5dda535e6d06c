public import Kernel

/// What two users are to each other (SO-1, SO-2, SO-4, SO-7): a state machine of one pair.
///
/// | state | request by x | accept by receiver | decline by receiver | remove by requester | remove by receiver | block |
/// |---|---|---|---|---|---|---|
/// | strangers, withdrawn, ended | pending (x) | – | – | again the same, but strangers – | ended again the same, else – | the same |
/// | pending | by the other: accepted; by the same: refused | accepted | declined | withdrawn | – | ended |
/// | declined | by the same before 7 days: refused; else pending (x) | – | again the same | – | – | the same |
/// | accepted | refused | again the same | – | ended | ended | ended |
///
/// Declining one's own pending request withdraws it.
public struct Friendship: Hashable, Sendable {
    /// How long the sender of a declined request must wait before asking again (SO-2).
    public static let declinedWait = Interval.days(7)
    /// Outgoing requests that may be pending at once (SO-1).
    public static let pendingLimit = 100
    /// New requests a user may send in an hour (SO-1).
    public static let hourlyLimit = 20

    /// Where the two stand.
    public enum State: Int32, Hashable, Sendable, CaseIterable {
        case strangers = 0
        case pending = 1
        case accepted = 2
        case declined = 3
        case withdrawn = 4
        case ended = 5
    }

    /// What a change amounts to.
    public enum Change: Hashable, Sendable {
        case requested
        case accepted
        case declined
        case withdrawn
        case ended
        /// Nothing new: the same answer as before.
        case none
    }

    /// Where they stand.
    public private(set) var state: State
    /// Who asked last.
    public private(set) var requester: UserID
    /// Since when they stand there.
    public private(set) var since: Instant

    /// A pair as stored.
    public init(state: State, requester: UserID, since: Instant) {
        self.state = state
        self.requester = requester
        self.since = since
    }

    /// `user` asks the other. A request that crosses an opposite pending one accepts it (SO-1).
    ///
    /// - Throws: `FRIEND_REQUEST_EXISTS`, `ALREADY_FRIENDS`, `FRIEND_REQUEST_DECLINED`.
    public mutating func request(by user: UserID, now: Instant) throws(ServiceError) -> Change {
        switch state {
        case .pending where requester == user:
            throw ServiceError(.alreadyExists, "FRIEND_REQUEST_EXISTS", "You have asked already.")
        case .pending:
            return move(to: .accepted, now, .accepted)
        case .accepted:
            throw ServiceError(.alreadyExists, "ALREADY_FRIENDS", "You are friends already.")
        case .declined where requester == user && now < since + Self.declinedWait:
            let seconds = (since + Self.declinedWait - now).seconds
            throw ServiceError(
                .failedPrecondition,
                "FRIEND_REQUEST_DECLINED",
                "This person declined; you may ask again after 7 days.",
                retryAfter: Int(seconds) + 1
            )
        case .strangers, .declined, .withdrawn, .ended:
            requester = user
            return move(to: .pending, now, .requested)
        }
    }

    /// The receiver accepts; accepting again changes nothing.
    ///
    /// - Throws: `NOT_FOUND` when there is nothing for `user` to accept.
    public mutating func accept(by user: UserID, now: Instant) throws(ServiceError) -> Change {
        guard user != requester else { throw Self.nothingToAnswer }
        switch state {
        case .pending: return move(to: .accepted, now, .accepted)
        case .accepted: return .none
        default: throw Self.nothingToAnswer
        }
    }

    /// The receiver declines, or the requester withdraws; doing it again changes nothing.
    ///
    /// - Throws: `NOT_FOUND` when there is no open request.
    public mutating func decline(by user: UserID, now: Instant) throws(ServiceError) -> Change {
        switch state {
        case .pending where user == requester: return move(to: .withdrawn, now, .withdrawn)
        case .pending: return move(to: .declined, now, .declined)
        case .declined where user != requester: return .none
        case .withdrawn where user == requester: return .none
        default: throw Self.nothingToAnswer
        }
    }

    /// Either one ends the friendship (SO-4), or the requester withdraws (SO-2); doing it again changes nothing.
    ///
    /// - Throws: `NOT_FOUND` when there is nothing of `user`'s to end.
    public mutating func remove(by user: UserID, now: Instant) throws(ServiceError) -> Change {
        switch state {
        case .accepted: return move(to: .ended, now, .ended)
        case .pending where user == requester: return move(to: .withdrawn, now, .withdrawn)
        case .ended: return .none
        case .withdrawn where user == requester: return .none
        default: throw ServiceError.notFound("friendship")
        }
    }

    /// One blocks the other: a request or friendship ends (SO-7). A declined request stays declined, so that unblocking does not shorten the
    /// wait.
    ///
    /// - Returns: `.ended` for a friendship, `.withdrawn` for a pending request.
    public mutating func sever(now: Instant) -> Change {
        switch state {
        case .accepted: return move(to: .ended, now, .ended)
        case .pending: return move(to: .ended, now, .withdrawn)
        case .strangers, .declined, .withdrawn, .ended: return .none
        }
    }

    private mutating func move(to state: State, _ now: Instant, _ change: Change) -> Change {
        self.state = state
        self.since = now
        return change
    }

    private static let nothingToAnswer = ServiceError.notFound("friend request")
}
