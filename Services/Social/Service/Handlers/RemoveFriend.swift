internal import Bus
internal import Kernel
internal import Outbox
internal import SocialAPI
internal import SocialDomain

extension SocialService {
    /// SO-4, and SO-2's withdrawal. `streaks` ends the streak of the two when it hears the event.
    func removeFriend(_ request: RemoveFriendRequest, context: CallContext) async throws -> RemoveFriendReply {
        let user = try context.requireUser()
        let id = try FriendshipID(parsing: request.friendshipID, field: "friendship_id")
        return try await mutations.run(context, request) { [self] work in
            guard let stored = try await friendships.lock(id, work.sql), stored.involves(user) else {
                throw ServiceError.notFound("friendship")
            }
            var friendship = stored.friendship
            let change = try friendship.remove(by: user, now: work.now)
            if change != .none {
                try await friendships.update(stored, to: friendship, id: id, createdAt: stored.createdAt, work.sql)
            }
            if change == .ended { try await work.emit(Self.ended(stored, at: work.now)) }
            return RemoveFriendReply(
                friendshipID: id.description,
                status: FriendshipStatus(rawValue: friendship.state.rawValue)
            )
        }
    }

    /// The event of a friendship's end.
    static func ended(_ stored: StoredFriendship, at now: Instant) -> FriendshipEnded {
        FriendshipEnded(
            friendshipID: stored.id.description,
            userAID: stored.low.description,
            userBID: stored.high.description,
            endedAt: now
        )
    }
}
