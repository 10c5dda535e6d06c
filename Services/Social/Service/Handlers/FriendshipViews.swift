internal import Bus
internal import Kernel
internal import Replicas
internal import SocialAPI
internal import SocialDomain
internal import StreaksAPI

extension SocialService {
    /// A friendship as `user` sees it.
    static func view(_ stored: StoredFriendship, of user: UserID, _ other: Profile) -> FriendshipReply {
        FriendshipReply(
            friendshipID: stored.id.description,
            status: FriendshipStatus(rawValue: stored.friendship.state.rawValue),
            direction: stored.friendship.requester == user ? .outgoing : .incoming,
            user: other.summary,
            createdAt: stored.createdAt
        )
    }

    /// The event of an acceptance; `streaks` starts the streak when it hears it, unless it has been asked before.
    static func accepted(_ id: FriendshipID, _ friendship: Friendship, accepter: UserID) -> FriendshipAccepted {
        FriendshipAccepted(
            friendshipID: id.description,
            requesterID: friendship.requester.description,
            accepterID: accepter.description,
            acceptedAt: friendship.since
        )
    }

    /// The reply with the streak that starts on acceptance (SO-2); any other as it is. When `streaks` cannot answer now, the event starts it a moment later.
    func withStreak(_ reply: FriendshipReply, user: UserID, _ context: CallContext) async throws -> FriendshipReply {
        var reply = reply
        guard reply.status == .accepted, let other = reply.user?.userID else { return reply }
        do {
            let started = try await streaks.startForFriendship(
                StartForFriendshipRequest(friendshipID: reply.friendshipID, userAID: user.description, userBID: other),
                context: context
            )
            if let reason = started.reason {
                reply.streakReason = reason
            } else {
                let summaries = try await summaries(of: user, with: [other], context)
                reply.streak = summaries[other].map(Self.streak)
            }
        } catch let error as ServiceError where error.code == .unavailable || error.code == .deadlineExceeded {
            reply.streakReason = "STREAK_PENDING"
        }
        return reply
    }

    /// Streak summaries by friend, in one round trip (SO-3); of everybody when nobody is named.
    func summaries(of user: UserID, with friends: [String], _ context: CallContext) async throws -> [String: FriendSummary] {
        let reply = try await streaks.getFriendSummaries(
            GetFriendSummariesRequest(userID: user.description, friendIDs: friends),
            context: context
        )
        return Dictionary(reply.summaries.map { ($0.friendID, $0) }, uniquingKeysWith: { first, _ in first })
    }

    static func streak(_ summary: FriendSummary) -> FriendStreak {
        FriendStreak(
            streakID: summary.streakID,
            currentCount: summary.currentCount,
            longestCount: summary.longestCount,
            youPostedToday: summary.youPostedToday,
            friendPostedToday: summary.friendPostedToday,
            atRisk: summary.atRisk,
            statusPill: summary.statusPill?.name,
            deadlineAt: summary.deadlineAt,
            status: summary.status.name
        )
    }
}

extension StreakStatus {
    /// As the public API writes it.
    fileprivate var name: String { self == .active ? "active" : "broken" }
}

extension StatusPill {
    /// As the public API writes it; nil for one that this version does not know.
    fileprivate var name: String? {
        switch self {
        case .bothPosted: "both_posted"
        case .waitingOnYou: "waiting_on_you"
        case .waitingOnFriend: "waiting_on_friend"
        case .atRisk: "at_risk"
        default: nil
        }
    }
}
