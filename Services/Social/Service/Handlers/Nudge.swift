internal import Bus
internal import Kernel
internal import Outbox
internal import SocialAPI
internal import SocialDomain

extension SocialService {
    /// SO-6. What the streak of the two is like is asked before the transaction; whether they are friends is looked at in it.
    func nudge(_ request: NudgeRequest, context: CallContext) async throws -> NudgeReply {
        let user = try context.requireUser()
        if let reply: NudgeReply = try await mutations.replay(context, request) { return reply }
        let friend = try UserID(parsing: request.friendID, field: "friend_id")
        guard friend != user, let seen = try await friendships.find(user, friend, friendships.database),
            seen.friendship.state == .accepted, try await profiles.profile(friend, context: context)?.isVisible == true
        else { throw ServiceError.notFound("friend") }
        let summary = try await summaries(of: user, with: [request.friendID], context)[friend.description]
        // Only a running streak has a deadline; a broken one that can still be recovered has none.
        let streak: Nudge.Streak =
            if let summary, summary.deadlineAt != nil { .active(friendPosted: summary.friendPostedToday) } else { .none }
        return try await mutations.run(context, request) { [self] work in
            let stored = try await friendships.lock(user, friend, work.sql)
            let next = try Nudge.check(
                areFriends: stored?.friendship.state == .accepted,
                streak: streak,
                last: try await NudgeRepository.lock(user, friend, work.sql),
                now: work.now
            )
            try await NudgeRepository.store(user, friend, at: work.now, work.sql)
            let streakID = summary?.streakID ?? ""
            try await work.emit(
                FriendNudged(
                    friendshipID: (stored ?? seen).id.description,
                    fromUserID: user.description,
                    toUserID: friend.description,
                    streakID: streakID,
                    at: work.now
                )
            )
            return NudgeReply(friendID: friend.description, streakID: streakID, nudgedAt: work.now, nextNudgeAt: next)
        }
    }
}
