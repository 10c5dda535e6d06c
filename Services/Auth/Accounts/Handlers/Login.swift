internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel
internal import Passwords
internal import ServiceRuntime

/// Signs in with e-mail and password (AU-2, AU-12). An unknown e-mail costs the same time as a wrong password and is answered the same; the
/// limits count it the same too.
struct Login: MutationHandler {
    let lifecycle: LifecycleRepository
    let loginFailures: LoginFailureRepository
    let passwords: PasswordHasher
    let issuer: SessionIssuer
    let mutations: Mutations
    let clock: any Clock

    func handle(_ request: LoginRequest, _ context: CallContext) async throws -> Once<SignInReply> {
        let keys = LoginFailureRepository.Keys(
            emailKey: AccountRepository.key(ofEmail: request.email),
            address: context.clientAddress
        )
        try await loginFailures.requireRoom(keys, now: clock.now())
        let account = try await lifecycle.accountToSignIn(email: request.email)
        let isRight = try await passwords.verify(
            request.password,
            against: account?.passwordHash,
            for: context.hashRequester(.signIn)
        )
        guard let account, isRight else {
            try await loginFailures.record(keys, now: clock.now())
            throw ServiceError.invalidCredentials
        }
        return try await mutations.once(context, request) { work in
            // Answered only when the guess counts: at the limit a right password looks like any other.
            try await loginFailures.delete(keys, now: work.now, work.sql)
            return try await issuer.signIn(account.id, verified: account.passwordHash, work)
        }
    }
}
