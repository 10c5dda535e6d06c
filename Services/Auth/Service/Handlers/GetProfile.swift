internal import AuthAPI
internal import Bus
internal import Kernel

extension AuthService {
    /// Who cannot be seen is answered like who does not exist (PF-2): also who blocks the caller, or is blocked by them (SO-7).
    func getProfile(_ request: GetProfileRequest, context: CallContext) async throws -> PublicProfile {
        let user = try context.requireUser()
        let id = try UserID(parsing: request.userID, field: "user_id")
        guard let account = try await accounts.find(id), account.status == .active,
            try await blocks.hidden(from: user, among: [id]).isEmpty
        else { throw ServiceError.notFound("user") }
        return PublicProfile(
            userID: id.description,
            username: account.username,
            displayName: account.displayName,
            avatarURL: accounts.avatars.url(account.avatarKey),
            createdAt: account.createdAt
        )
    }
}
