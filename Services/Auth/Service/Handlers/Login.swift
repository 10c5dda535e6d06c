internal import AuthAPI
internal import Bus
internal import Kernel

extension AuthService {
    /// AU-2, AU-12. An unknown e-mail costs the same time as a wrong password, and says the same; also to the limits.
    func login(_ request: LoginRequest, context: CallContext) async throws -> SignInReply {
        let keys = LoginFailureRepository.Keys(
            emailKey: AccountRepository.key(ofEmail: request.email),
            address: context.clientAddress
        )
        try await loginFailures.requireRoom(keys, now: clock.now())
        let account = try await accounts.find(email: request.email)
        let isRight = try await passwords.verify(request.password, against: account?.passwordHash)
        guard let account, isRight else {
            try await loginFailures.record(keys, now: clock.now())
            throw Self.invalidCredentials
        }
        return try await mutations.run(context, request) { [self] work in
            // Told only when the guess counts: at the limit a right password looks like any other.
            try await loginFailures.forget(keys, now: work.now, work.sql)
            return try await signIn(account.id, verified: account.passwordHash, work)
        }
    }

    static let invalidCredentials = ServiceError(.unauthenticated, "INVALID_CREDENTIALS", "E-mail or password is wrong.")

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
