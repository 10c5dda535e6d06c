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
        let account = try await lifecycle.whoSignsIn(email: request.email)
        let isRight = try await passwords.verify(
            request.password,
            against: account?.passwordHash,
            for: context.hashRequester(.signIn)
        )
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
}
