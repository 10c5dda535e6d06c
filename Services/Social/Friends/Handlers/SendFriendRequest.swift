internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialCore
internal import SocialDomain

/// Sends a friend request (SO-1). A user who may not be asked is answered as one who does not exist.
struct SendFriendRequest: MutationHandler {
    let friendships: FriendshipRepository
    let requests: RequestRepository
    let blocks: BlockRepository
    let profiles: ProfileReplica
    let streaks: FriendStreaks
    let mutations: Mutations

    func handle(_ request: SendFriendRequestRequest, _ context: CallContext) async throws -> Once<FriendshipReply> {
        let user = try context.requireUser()
        if let known: Once<FriendshipReply> = try await mutations.known(context, request) { return known }
        let other = try await target(of: request, context)
        guard other.userID != user else {
            throw ServiceError(.invalidArgument, "CANNOT_BEFRIEND_SELF", "You cannot be your own friend.")
        }
        guard other.isVisible else { throw ServiceError.notFound("user") }
        return try await mutations.once(
            context,
            request,
            completedBy: { try await streaks.complete($0, for: user, with: other.userID, context) },
            { work in try await send(from: user, to: other, work) }
        )
    }

    func problems(of request: SendFriendRequestRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { $0.require(request.target != nil, "user_id", "either user_id or username is required") }
    }

    private func send(from user: UserID, to other: Profile, _ work: UnitOfWork) async throws -> FriendshipReply {
        try requests.lockSender(user, work.sql)
        let stored = try await friendships.lock(user, other.userID, newID: work.ids.make(), now: work.now, work.sql)
        // Blocking locks the same row, so one of the two sees the other.
        guard try await !blocks.exists(between: user, and: other.userID, work.sql) else { throw ServiceError.notFound("user") }
        var friendship = stored.friendship
        let change = try friendship.request(by: user, now: work.now)
        if change == .requested { try await requireRoom(for: user, work) }
        let id = change == .requested && stored.friendship.state != .strangers ? stored.laterID(work.ids.make()) : stored.id
        let createdAt = change == .requested ? work.now : stored.createdAt
        try friendships.update(stored, to: friendship, id: id, createdAt: createdAt, work.sql)
        if change == .accepted {
            try await work.emit(FriendshipAccepted(id, friendship, accepter: user))
        } else {
            try requests.noteSent(id, by: user, now: work.now, work.sql)
            try await work.emit(
                FriendRequestSent(friendshipID: id, fromUserID: user, toUserID: other.userID, sentAt: work.now)
            )
        }
        return FriendshipReply(
            StoredFriendship(id: id, low: stored.low, high: stored.high, createdAt: createdAt, friendship: friendship),
            of: user,
            other
        )
    }

    private func target(of request: SendFriendRequestRequest, _ context: CallContext) async throws -> Profile {
        let profile: Profile? =
            switch request.target {
            case .userID(let id): try await profiles.profile(id, context: context)
            case .username(let name): try await profiles.profile(username: name.lowercased(), context: context)
            case nil: throw ServiceError.validation(field: "user_id", "either user_id or username is required")
            }
        guard let profile else { throw ServiceError.notFound("user") }
        return profile
    }

    /// SO-1's limits. - Throws: `TOO_MANY_FRIEND_REQUESTS` or `TOO_MANY_PENDING_REQUESTS`.
    private func requireRoom(for user: UserID, _ work: UnitOfWork) async throws {
        let counts = try await requests.counts(of: user, since: work.now - .hours(1), work.sql)
        guard counts.pending < Friendship.pendingLimit else {
            throw ServiceError(
                .resourceExhausted,
                "TOO_MANY_PENDING_REQUESTS",
                "At most \(Friendship.pendingLimit) requests may be pending.",
                // Until one of them is answered, which may take days.
                retryAfter: 3_600
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
