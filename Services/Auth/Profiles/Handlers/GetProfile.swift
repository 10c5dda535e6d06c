internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel
internal import Replicas

/// What a user may know of another. One who cannot be seen is answered like one who does not exist (PF-2): also one who blocks the caller, or
/// is blocked by them (SO-7).
struct GetProfile: QueryHandler {
    let accounts: AccountRepository
    let blocks: BlockReplica

    func handle(_ request: GetProfileRequest, _ context: CallContext) async throws -> PublicProfile {
        let user = try context.requireUser()
        let id = request.userID
        guard let account = try await accounts.find(id), account.status == .active,
            try await blocks.hidden(from: user, among: [id]).isEmpty
        else { throw ServiceError.notFound("user") }
        return PublicProfile(
            userID: id,
            username: account.username,
            displayName: account.displayName,
            avatarURL: accounts.avatarURL(of: account),
            createdAt: account.createdAt,
            rewards: try await accounts.rewards(of: id)
        )
    }
}
