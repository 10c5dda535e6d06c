internal import Bus
internal import Kernel
internal import Outbox
internal import SocialAPI

extension SocialService {
    /// SO-7: restores nothing. Somebody else's block is answered as one that does not exist.
    func unblockUser(_ request: UnblockUserRequest, context: CallContext) async throws -> UnblockUserReply {
        let user = try context.requireUser()
        let id = try BlockID(parsing: request.blockID, field: "block_id")
        return try await mutations.run(context, request) { [self] work in
            guard let block = try await blocks.lock(id, of: user, work.sql) else { throw ServiceError.notFound("block") }
            if block.isActive, let ended = try await blocks.deactivate(id, now: work.now, work.sql) {
                try await work.emit(UserUnblocked(blockID: id.description, block: ended.state))
            }
            return UnblockUserReply(blockID: id.description, userID: block.blocked.description)
        }
    }
}
