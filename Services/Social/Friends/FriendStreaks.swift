internal import Bus
internal import Kernel
internal import SocialAPI
internal import StreaksAPI

/// The streaks that a user has with friends, as `streaks` has them.
struct FriendStreaks: Sendable {
    private let client: MutualClient

    init(_ client: MutualClient) { self.client = client }

    /// Summaries by friend, in one round trip (SO-3); of all friends when none is named.
    func summaries(of user: UserID, with friends: [UserID], _ context: CallContext) async throws -> [UserID: FriendSummary] {
        let reply = try await client.getFriendSummaries(
            GetFriendSummariesRequest(userID: user, friendIDs: friends),
            context: context
        )
        return Dictionary(reply.summaries.map { ($0.friendID, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The same for a list of friends, which is shown without streaks when `streaks` cannot answer; nil then. Waits for at most half of the
    /// time that is left, and 2 s: a `streaks` that is frozen must not cost the list.
    func summariesIfKnown(of user: UserID, with friends: [UserID], _ context: CallContext) async throws
        -> [UserID: FriendSummary]?
    {
        let limit = min(Self.longestWait, Interval(microseconds: context.remaining.microseconds / 2))
        do {
            return try await summaries(of: user, with: friends, context.child(timeout: limit))
        } catch let error where Self.isPassing(error) { return nil }
    }

    private static let longestWait = Interval.seconds(2)

    private static func isPassing(_ error: any Error) -> Bool {
        let code = (error as? ServiceError)?.code
        return code == .unavailable || code == .deadlineExceeded
    }

    /// The reply with the streak that starts on acceptance (SO-2); any other reply as it is. When `streaks` cannot answer now, the event of
    /// the acceptance starts the streak later.
    func complete(_ reply: FriendshipReply, for user: UserID, with friend: UserID, _ context: CallContext) async throws
        -> FriendshipReply
    {
        var reply = reply
        guard reply.status == .accepted else { return reply }
        do {
            let started = try await client.startForFriendship(
                StartForFriendshipRequest(friendshipID: reply.friendshipID, userAID: user, userBID: friend),
                context: context
            )
            if let reason = started.reason {
                reply.streakReason = reason
            } else {
                reply.streak = try await summaries(of: user, with: [friend], context)[friend].map { FriendStreak($0) }
            }
        } catch let error where Self.isPassing(error) {
            reply.streakReason = "STREAK_PENDING"
        }
        return reply
    }
}

extension FriendStreak {
    /// What a friend list shows of a streak.
    init(_ summary: FriendSummary) {
        self.init(
            streakID: summary.streakID,
            currentCount: summary.currentCount,
            longestCount: summary.longestCount,
            youPostedToday: summary.youPostedToday,
            friendPostedToday: summary.friendPostedToday,
            atRisk: summary.atRisk,
            statusPill: summary.statusPill?.publicName,
            deadlineAt: summary.deadlineAt,
            status: summary.status == .active ? "active" : "broken"
        )
    }
}

extension StatusPill {
    /// As the public API writes it; nil for one that this version does not know.
    fileprivate var publicName: String? {
        switch self {
        case .bothPosted: "both_posted"
        case .waitingOnYou: "waiting_on_you"
        case .waitingOnFriend: "waiting_on_friend"
        case .atRisk: "at_risk"
        default: nil
        }
    }
}
