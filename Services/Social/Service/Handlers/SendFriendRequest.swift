internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import SocialAPI
internal import SocialDomain

extension SocialService {
    /// SO-1. A person who may not be asked is answered as if there were no such person.
    func sendFriendRequest(_ request: SendFriendRequestRequest, context: CallContext) async throws -> FriendshipReply {
        let user = try context.requireUser()
        if let reply: FriendshipReply = try await mutations.replay(context, request) { return reply }
        let other = try await target(of: request, context)
        guard other.userID != user else {
            throw ServiceError(.invalidArgument, "CANNOT_BEFRIEND_SELF", "You cannot be your own friend.")
        }
        guard other.isVisible else { throw ServiceError.notFound("user") }
        return try await mutations.run(context, request, completedBy: { try await withStreak($0, user: user, context) }) {
            [self] work in
            try await friendships.lockSender(user, work.sql)
            let stored = try await friendships.lock(user, other.userID, newID: work.ids.make(), now: work.now, work.sql)
            // Blocking locks the same row, so one of the two sees the other.
            guard try await !blocks.exists(between: user, and: other.userID, work.sql) else {
                throw ServiceError.notFound("user")
            }
            var friendship = stored.friendship
            let change = try friendship.request(by: user, now: work.now)
            if change == .requested { try await requireRoom(for: user, work) }
            let id = change == .requested && stored.friendship.state != .strangers ? stored.laterID(work.ids.make()) : stored.id
            let createdAt = change == .requested ? work.now : stored.createdAt
            try await friendships.update(stored, to: friendship, id: id, createdAt: createdAt, work.sql)
            if change == .accepted {
                try await work.emit(Self.accepted(id, friendship, accepter: user))
            } else {
                try await friendships.noteSent(id, by: user, now: work.now, work.sql)
                try await work.emit(
                    FriendRequestSent(
                        friendshipID: id.description,
                        fromUserID: user.description,
                        toUserID: other.userID.description,
                        sentAt: work.now
                    )
                )
            }
            return Self.view(
                StoredFriendship(id: id, low: stored.low, high: stored.high, createdAt: createdAt, friendship: friendship),
                of: user,
                other
            )
        }
    }

    private func target(of request: SendFriendRequestRequest, _ context: CallContext) async throws -> Profile {
        switch request.target {
        case .userID(let text):
            let id = try UserID(parsing: text, field: "user_id")
            guard let profile = try await profiles.profile(id, context: context) else { throw ServiceError.notFound("user") }
            return profile
        case .username(let name):
            guard let profile = try await profiles.profile(username: name.lowercased(), context: context) else {
                throw ServiceError.notFound("user")
            }
            return profile
        case nil:
            throw ServiceError.validation(field: "user_id", "either user_id or username is required")
        }
    }

    /// SO-1's limits. - Throws: `TOO_MANY_FRIEND_REQUESTS` or `TOO_MANY_PENDING_REQUESTS`.
    private func requireRoom(for user: UserID, _ work: UnitOfWork) async throws {
        let counts = try await friendships.requestCounts(of: user, since: work.now - .hours(1), work.sql)
        guard counts.pending < Friendship.pendingLimit else {
            throw ServiceError(
                .resourceExhausted,
                "TOO_MANY_PENDING_REQUESTS",
                "At most \(Friendship.pendingLimit) requests may be pending."
            )
        }
        guard counts.sent.count < Friendship.hourlyLimit else {
            let free = counts.sent[counts.sent.count - Friendship.hourlyLimit] + .hours(1)
            throw ServiceError(
                .resourceExhausted,
                "TOO_MANY_FRIEND_REQUESTS",
                "At most \(Friendship.hourlyLimit) friend requests an hour.",
                retryAfter: Int((free - work.now).seconds) + 1
            )
        }
    }
}
