internal import AuthAPI
internal import Bus
internal import Kernel

extension AuthService {
    /// AU-2. An unknown e-mail costs the same time as a wrong password, and says the same.
    func login(_ request: LoginRequest, context: CallContext) async throws -> SignInReply {
        let account = try await lifecycle.whoSignsIn(email: request.email)
        let isRight = try await passwords.verify(request.password, against: account?.passwordHash)
        guard let account, isRight else {
            throw ServiceError(.unauthenticated, "INVALID_CREDENTIALS", "E-mail or password is wrong.")
        }
        try await requireUsable(account)
        return try await mutations.run(context, request) { [self] work in try await signIn(account, work) }
    }
}
