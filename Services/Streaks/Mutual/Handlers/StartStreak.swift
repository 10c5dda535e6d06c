internal import Bus
internal import Kernel
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI
internal import StreaksCore

/// Starts a streak with a friend (MS-1).
struct StartStreak: MutationHandler {
    let views: MutualViews
    let starts: MutualStarts
    let friends: FriendsClient
    let profiles: ProfileReplica
    let mutations: Mutations

    func handle(_ request: StartStreakRequest, _ context: CallContext) async throws -> Once<StartStreakReply> {
        let user = try context.requireUser()
        let friend = request.friendID
        guard friend != user else { throw ServiceError.validation(field: "friend_id", "must be another user") }
        // Asked before the transaction and judged in it: a repeat gets the first answer, whatever has become of the friendship.
        let friendship = await friendship(of: user, with: friend, context)
        return try await mutations.once(
            context,
            request,
            completedBy: { begun in
                guard let id = begun.streak?.id else { throw ServiceError.internal }
                let streak = try await views.streaks(.one(id), of: user, withPartners: true, context).first
                return StartStreakReply(streak: streak?.item ?? begun.streak)
            },
            { [starts] work in
                let id = try await starts.startAnew(try friendship.get(), user, with: friend, work)
                return StartStreakReply(streak: StreakItem(id: id))
            }
        )
    }

    /// The friendship as `social` has it. Their zones must be known too before the first deadline is worked out.
    private func friendship(of user: UserID, with friend: UserID, _ context: CallContext) async -> Result<FriendshipID, any Error>
    {
        do {
            let request = FindFriendshipRequest(userID: user, friendID: friend)
            let found = try await friends.findFriendship(request, context: context)
            _ = try await profiles.profiles([user, friend], context: context)
            return .success(found.friendshipID)
        } catch let error as ServiceError where error.code == .notFound {
            return .failure(ServiceError.notFriends)
        } catch {
            return .failure(error)
        }
    }
}
