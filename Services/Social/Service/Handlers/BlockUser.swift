internal import Bus
internal import CommonAPI
internal import Kernel
internal import Outbox
internal import Replicas
internal import SocialAPI
internal import SocialDomain

extension SocialService {
    /// SO-7. The row of the two is locked first, as by a request or its answer: whichever comes later sees the other's outcome.
    func blockUser(_ request: BlockUserRequest, context: CallContext) async throws -> Block {
        let user = try context.requireUser()
        if let reply: Block = try await mutations.replay(context, request) { return reply }
        let other = try UserID(parsing: request.userID, field: "user_id")
        guard other != user else { throw ServiceError(.invalidArgument, "CANNOT_BLOCK_SELF", "You cannot block yourself.") }
        guard let profile = try await profiles.profile(other, context: context), profile.status != .deleted else {
            throw ServiceError.notFound("user")
        }
        return try await mutations.run(context, request) { [self] work in
            let stored = try await friendships.lock(user, other, newID: work.ids.make(), now: work.now, work.sql)
            let (block, isNew) = try await blocks.activate(user, other, newID: work.ids.make(), now: work.now, work.sql)
            if isNew {
                var friendship = stored.friendship
                let change = friendship.sever(now: work.now)
                if change != .none {
                    try await friendships.update(stored, to: friendship, id: stored.id, createdAt: stored.createdAt, work.sql)
                }
                if change == .ended { try await work.emit(Self.ended(stored, at: work.now)) }
                try await work.emit(UserBlocked(blockID: block.id.description, block: block.state))
            }
            let blockers = try await blocks.blockers(of: user, among: [other], work.sql)
            return Self.view(block, profile, isHidden: blockers.contains(other))
        }
    }

    /// A block as the one who blocks sees it.
    ///
    /// - Parameter isHidden: whether the other blocks them too. Otherwise one could find out the name and picture of whoever blocks one
    ///   by blocking back.
    static func view(_ block: StoredBlock, _ blocked: Profile, isHidden: Bool) -> Block {
        Block(
            blockID: block.id.description,
            user: isHidden ? .unavailable(blocked.userID) : blocked.summary,
            createdAt: block.changedAt
        )
    }
}
