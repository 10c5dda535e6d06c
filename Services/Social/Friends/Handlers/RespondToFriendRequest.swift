internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialCore
internal import SocialDomain

/// Accepts or declines a friend request (SO-2); a user who declines their own withdraws it. An acceptance is committed with its event first;
/// the streak is started by this call or by the event, whichever comes first.
struct RespondToFriendRequest: MutationHandler {
    let friendships: FriendshipRepository
    let profiles: ProfileReplica
    let streaks: FriendStreaks
    let mutations: Mutations

    func handle(_ request: RespondToFriendRequestRequest, _ context: CallContext) async throws -> Once<FriendshipReply> {
        let user = try context.requireUser()
        if let known: Once<FriendshipReply> = try await mutations.known(context, request) { return known }
        // The profile is read before the transaction: inside, waiting for another connection could be waiting for oneself.
        guard let seen = try await friendships.find(request.friendshipID), seen.involves(user),
            let other = try await profiles.profile(seen.other(than: user), context: context), other.isVisible
        else { throw ServiceError.notFound("friend request") }
        return try await mutations.once(
            context,
            request,
            completedBy: { try await streaks.complete($0, for: user, with: other.userID, context) },
            { work in try await respond(request, of: user, to: other, work) }
        )
    }

    private func respond(
        _ request: RespondToFriendRequestRequest,
        of user: UserID,
        to other: Profile,
        _ work: UnitOfWork
    ) async throws -> FriendshipReply {
        let id = request.friendshipID
        guard let stored = try await friendships.lock(id, work.sql), stored.involves(user) else {
            throw ServiceError.notFound("friend request")
        }
        var friendship = stored.friendship
        let change =
            request.action == .accept
            ? try friendship.accept(by: user, now: work.now) : try friendship.decline(by: user, now: work.now)
        if change != .none {
            try friendships.update(stored, to: friendship, id: id, createdAt: stored.createdAt, work.sql)
        }
        if change == .accepted { try await work.emit(FriendshipAccepted(id, friendship, accepter: user)) }
        return FriendshipReply(
            StoredFriendship(id: id, low: stored.low, high: stored.high, createdAt: stored.createdAt, friendship: friendship),
            of: user,
            other
        )
    }
}
