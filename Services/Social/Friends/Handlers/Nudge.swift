internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialCore
internal import SocialDomain
internal import StreaksAPI

/// Reminds a friend to post (SO-6). The streak of the two is asked for before the transaction; the friendship is checked inside it.
struct Nudge: MutationHandler {
    let friendships: FriendshipRepository
    let profiles: ProfileReplica
    let streaks: FriendStreaks
    let mutations: Mutations

    func handle(_ request: NudgeRequest, _ context: CallContext) async throws -> Once<NudgeReply> {
        let user = try context.requireUser()
        if let known: Once<NudgeReply> = try await mutations.known(context, request) { return known }
        let friend = request.friendID
        guard friend != user, let seen = try await friendships.find(user, friend, friendships.database),
            seen.friendship.state == .accepted, try await profiles.profile(friend, context: context)?.isVisible == true
        else { throw ServiceError.notFound("friend") }
        let streak = try await streak(of: user, with: friend, context)
        return try await mutations.once(context, request) { [friendships] work in
            let stored = try await friendships.lock(user, friend, work.sql)
            let allowed = try NudgeRule.check(
                areFriends: stored?.friendship.state == .accepted,
                streak: streak,
                last: try await NudgeRepository.lock(user, friend, work.sql),
                now: work.now
            )
            try await NudgeRepository.store(user, friend, at: work.now, work.sql)
            try await work.emit(
                FriendNudged(
                    friendshipID: (stored ?? seen).id,
                    fromUserID: user,
                    toUserID: friend,
                    streakID: allowed.streak,
                    at: work.now
                )
            )
            return NudgeReply(friendID: friend, streakID: allowed.streak, nudgedAt: work.now, nextNudgeAt: allowed.nextAt)
        }
    }

    /// Only a running streak has a deadline; a broken one that can still be recovered has none.
    private func streak(of user: UserID, with friend: UserID, _ context: CallContext) async throws -> NudgeRule.Streak {
        let summaries = try await streaks.summaries(of: user, with: [friend], context)
        guard let summary = summaries[friend], summary.deadlineAt != nil else { return .none }
        return .active(summary.streakID, friendPosted: summary.friendPostedToday)
    }
}
