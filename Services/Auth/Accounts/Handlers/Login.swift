internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel
internal import Passwords
internal import ServiceRuntime

/// Signs in with e-mail and password (AU-2, AU-12). An unknown e-mail costs the same time as a wrong password and is answered the same; the
/// limits count it the same too. Whether there is a second factor shows with the right password only. A password whose hash is of a lower cost than
/// today's is hashed anew.
struct Login: MutationHandler {
    let accounts: AccountRepository
    let lifecycle: LifecycleRepository
    let loginFailures: LoginFailureRepository
    let passwords: PasswordHasher
    let issuer: SessionIssuer
    let factors: SecondFactors
    let mutations: Mutations
    let clock: any Clock

    func handle(_ request: LoginRequest, _ context: CallContext) async throws -> Once<SignInReply> {
        try await mutations.alone(context, request) { try await signIn(request, context) }
    }

    private func signIn(_ request: LoginRequest, _ context: CallContext) async throws -> Once<SignInReply> {
        let keys = try await loginFailures.keys(
            emailKey: AccountRepository.key(ofEmail: request.email),
            address: context.clientAddress,
            now: clock.now()
        )
        try await loginFailures.requireRoom(keys, now: clock.now())
        for _ in 0..<2 {
            do {
                return try await factors.counting(request.code, context) { try await signIn(request, keys, $0, context) }
            } catch is PasswordChanged {
                // By another sign-in that hashed it anew, or it is another one: it is compared once more.
            }
        }
        throw ServiceError.invalidCredentials
    }

    /// - Throws: `PasswordChanged`.
    private func signIn(
        _ request: LoginRequest,
        _ keys: LoginFailureRepository.Keys,
        _ proof: SecondFactors.Proof,
        _ context: CallContext
    ) async throws -> Once<SignInReply> {
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
        let stronger = await strongerHash(of: request.password, account, context)
        return try await mutations.once(context, request) { work in
            // Answered only when the guess counts: at the limit a right password looks like any other.
            // One with a code was counted before, below the limit.
            if try await !factors.takeBack(proof, work) { try await loginFailures.delete(keys, now: work.now, work.sql) }
            if let stronger {
                // Before its session: two that had locked the account for reading would wait for each other.
                guard try await accounts.lock(account.id, work.sql)?.passwordHash == account.passwordHash else {
                    throw PasswordChanged()
                }
                try await accounts.store(passwordHash: stronger, of: account.id, now: work.now, work.sql)
            }
            let reply = try await issuer.signIn(account.id, verified: stronger ?? account.passwordHash, proof: proof, work)
            try await KnownClientRepository.note(account.id, at: context.clientAddress, now: work.now, work.sql)
            return reply
        }
    }

    /// nil when the hash costs as much as those of today, or there is no time to make one: the next sign-in will.
    private func strongerHash(of password: String, _ account: Account, _ context: CallContext) async -> String? {
        guard let hash = account.passwordHash, passwords.isWeak(hash) else { return nil }
        return try? await passwords.hash(password, for: context.hashRequester(.signIn))
    }
}
