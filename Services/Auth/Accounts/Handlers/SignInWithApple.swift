internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Database
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// Signs in with an identity token of Apple's; creates the account at the first time (AU-5). The token is verified outside the transaction,
/// which may run again: a concurrent request may create the account meanwhile.
struct SignInWithApple: MutationHandler {
    let apple: AppleVerifier
    let appleAccounts: AppleAccounts
    let naming: AccountNaming
    let lifecycle: LifecycleRepository
    let owner: OwnerProof
    let issuer: SessionIssuer
    let revocations: RevocationPublisher
    /// Whether an address that Apple has not verified is left out (`auth.private-registration`): the answer would say whether it is taken.
    let areRegistrationsPrivate: Bool
    let mutations: Mutations

    func handle(_ request: SignInWithAppleRequest, _ context: CallContext) async throws -> Once<SignInReply> {
        let once = try await mutations.alone(context, request) { try await signIn(request, context) }
        // Those of an account that was linked.
        if let user = once.reply.user?.id { try await revocations.publish(of: user) }
        return once
    }

    func problems(of request: SignInWithAppleRequest) -> [ServiceError.Detail] { FieldCheck.problems { _ = try form(request) } }

    /// The display name is cleaned rather than refused: it is Apple's.
    private func form(_ request: SignInWithAppleRequest) throws -> ProfileForm {
        try ProfileForm(
            username: request.username,
            timeZone: request.timeZone,
            timezoneOffset: request.timezoneOffset,
            issuer.core.names
        )
    }

    private func signIn(_ request: SignInWithAppleRequest, _ context: CallContext) async throws -> Once<SignInReply> {
        let identity = try await apple.identity(request.identityToken, nonce: request.nonce)
        let form = try form(request)
        let name = AppleToken.name(
            display: request.displayName,
            full: request.fullName,
            given: request.givenName,
            family: request.familyName
        ).flatMap { issuer.core.names.contains($0) ? nil : $0 }
        let password = try await password(request, identity, context)
        let email = areRegistrationsPrivate && !identity.token.isEmailVerified ? "" : identity.token.email ?? ""
        // A relay address is private: neither username nor display name are made from it.
        let isPrivate = identity.hidesEmail || email.isEmpty
        return try await naming.run(request.username, after: isPrivate ? name ?? "user" : email) { username in
            try await counting(request, context) { proof, work in
                let fallback = isPrivate ? username : issuer.core.names.fallback(email: email, username: username)
                let account = Account(
                    id: work.ids.make(),
                    email: email,
                    passwordHash: nil,
                    username: username,
                    displayName: name ?? fallback,
                    zone: form.zone ?? .utc,
                    emailVerifiedAt: identity.token.isEmailVerified && !email.isEmpty ? work.now : nil,
                    now: work.now
                )
                let user = try await appleAccounts.account(of: identity, new: account, password: password, work)
                return try await issuer.signIn(user, proof: proof, work)
            }
        }
    }

    /// Compares the password that the caller sent to keep it, where this may link an account that has one.
    ///
    /// - Throws: `WRONG_PASSWORD`, `RATE_LIMITED`.
    private func password(
        _ request: SignInWithAppleRequest,
        _ identity: AppleVerifier.Identity,
        _ context: CallContext
    ) async throws -> AppleAccounts.Password {
        guard let password = request.password, !password.isEmpty else { return .removed }
        guard let email = identity.token.email, identity.token.isEmailVerified,
            try await appleAccounts.appleUsers.account(of: identity.token.subject) == nil,
            let account = try await lifecycle.accountToSignIn(email: email), account.status != .deleted,
            account.emailVerifiedAt != nil, let hash = account.passwordHash
        else { return .confirmed(nil) }
        try await owner.require(password, matching: hash, of: account, field: "password", context)
        return .confirmed(hash)
    }

    /// The transaction of a sign-in, with a code where the account needs one.
    private func counting(
        _ request: SignInWithAppleRequest,
        _ context: CallContext,
        _ body: @escaping @Sendable (SecondFactors.Proof, UnitOfWork) async throws -> SignInReply
    ) async throws -> Once<SignInReply> {
        try await issuer.factors.counting(request.code, context) { proof in
            try await retryingIdentity {
                try await mutations.once(context, request) { work in
                    try await issuer.factors.takeBack(proof, work)
                    return try await body(proof, work)
                }
            }
        }
    }

    /// Two first sign-ins at once: the second finds what the first has made.
    private func retryingIdentity<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        var attempts = 0
        while true {
            do { return try await body() } catch let error as DatabaseError
                where attempts < 3 && error.code == .uniqueViolation && !error.isUniqueViolation("account_username")
            {
                attempts += 1
            }
        }
    }
}
