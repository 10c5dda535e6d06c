internal import AuthAPI
internal import Bus
internal import Kernel

extension AuthService {
    /// Who cannot be seen is answered like who does not exist (PF-2). Blocks are social's business.
    func getProfile(_ request: GetProfileRequest, context _: CallContext) async throws -> PublicProfile {
        let id = try UserID(parsing: request.userID, field: "user_id")
        guard let account = try await accounts.find(id), account.status == .active else { throw ServiceError.notFound("user") }
        return PublicProfile(
            userID: id.description,
            username: account.username,
            displayName: account.displayName,
            avatarURL: accounts.avatars.url(account.avatarKey),
            createdAt: account.createdAt
        )
    }
}
