internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime
internal import SocialAPI
internal import SocialCore

/// Ends a block; restores nothing (SO-7). A block of another user is answered as one that does not exist.
struct UnblockUser: MutationHandler {
    let blocks: BlockRepository
    let mutations: Mutations

    func handle(_ request: UnblockUserRequest, _ context: CallContext) async throws -> Once<UnblockUserReply> {
        let user = try context.requireUser()
        let id = request.blockID
        return try await mutations.once(context, request) { [blocks] work in
            guard let block = try await blocks.lock(id, of: user, work.sql) else { throw ServiceError.notFound("block") }
            if block.isActive, let ended = try await blocks.deactivate(id, now: work.now, work.sql) {
                try await work.emit(UserUnblocked(blockID: id, block: ended.state))
            }
            return UnblockUserReply(blockID: id, userID: block.blocked)
        }
    }
}
