internal import Bus
internal import Kernel
internal import Outbox
internal import Replicas
internal import ServiceRuntime
internal import SocialAPI
internal import SocialCore
internal import SocialDomain

/// Blocks a user (SO-7). The row of the two is locked first, as by a request or its answer: the later of them sees the other's outcome. The reply
/// comes when every service goes by the block. One who blocks the caller is answered as a user who does not exist: otherwise blocking back would say
/// that the other exists.
struct BlockUser: MutationHandler {
    let friendships: FriendshipRepository
    let blocks: BlockRepository
    let profiles: ProfileReplica
    let quotas: Quotas
    let mutations: Mutations

    func handle(_ request: BlockUserRequest, _ context: CallContext) async throws -> Once<Block> {
        let user = try context.requireUser()
        if let known: Once<Block> = try await mutations.known(context, request) { return known }
        let other = request.userID
        guard other != user else { throw ServiceError(.invalidArgument, "CANNOT_BLOCK_SELF", "You cannot block yourself.") }
        guard let profile = try await profiles.profile(other, context: context), profile.status != .deleted else {
            throw ServiceError.notFound("user")
        }
        return try await mutations.once(context, request, protecting: user) { [friendships, blocks, quotas] work in
            let stored = try await friendships.lock(user, other, newID: work.ids.make(), now: work.now, work.sql)
            let isHidden = try await !blocks.blockers(of: user, among: [other], work.sql).isEmpty
            let hasRoom = try await quotas.room(for: 1, in: .blocks, of: user, work.sql) == 1
            let (block, isNew) = try await blocks.activate(user, other, newID: work.ids.make(), now: work.now, work.sql)
            if isNew, isHidden { throw ServiceError.notFound("user") }
            // Whom the user has blocked before has a row already.
            if block.version == 1, isNew, !hasRoom { throw quotas.refusal(.blocks) }
            if isNew {
                var friendship = stored.friendship
                let change = friendship.sever(now: work.now)
                if change != .none {
                    try friendships.update(stored, to: friendship, id: stored.id, createdAt: stored.createdAt, work.sql)
                }
                if change == .ended { try await work.emit(FriendshipEnded(stored, at: work.now)) }
                try await work.emit(UserBlocked(blockID: block.id, block: block.state))
            }
            return Block(block, profile, isHidden: isHidden)
        }
    }
}
