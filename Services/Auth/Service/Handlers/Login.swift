internal import AuthAPI
internal import Bus
internal import Kernel

extension AuthService {
    /// AU-2. An unknown e-mail costs the same time as a wrong password, and says the same.
    func login(_ request: LoginRequest, context: CallContext) async throws -> SignInReply {
        let account = try await accounts.find(email: request.email)
        let isRight = try await passwords.verify(request.password, against: account?.passwordHash)
        guard let account, isRight else {
            throw ServiceError(.unauthenticated, "INVALID_CREDENTIALS", "E-mail or password is wrong.")
        }
        try Self.requireUsable(account)
        return try await mutations.run(context, request) { [self] work in try await signIn(account, work) }
    }

    /// Suspended, banned and deleted accounts cannot sign in (SO-9, AU-7).
    static func requireUsable(_ account: Account) throws(ServiceError) {
        switch account.status {
        case .active: return
        case .suspended: throw ServiceError(.permissionDenied, "ACCOUNT_SUSPENDED", "This account is suspended.")
        case .banned: throw ServiceError(.permissionDenied, "ACCOUNT_BANNED", "This account is banned.")
        default: throw ServiceError(.permissionDenied, "ACCOUNT_DELETED", "This account is scheduled for deletion.")
        }
    }
}
