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
    let issuer: SessionIssuer
    let mutations: Mutations

    func handle(_ request: SignInWithAppleRequest, _ context: CallContext) async throws -> Once<SignInReply> {
        try await mutations.alone(context, request) { try await signIn(request, context) }
    }

    private func signIn(_ request: SignInWithAppleRequest, _ context: CallContext) async throws -> Once<SignInReply> {
        let identity = try await apple.identity(request.identityToken, nonce: request.nonce)
        try ProfileRules.requireUnreserved(request.username)
        let zone = try ProfileRules.zone(name: request.timeZone, offsetMinutes: request.timezoneOffset) ?? .utc
        let name = AppleToken.name(
            display: request.displayName,
            full: request.fullName,
            given: request.givenName,
            family: request.familyName
        )
        let email = identity.token.email ?? ""
        // A relay address is private: neither username nor display name are made from it.
        let isPrivate = identity.hidesEmail || email.isEmpty
        return try await naming.run(request.username, after: isPrivate ? name ?? "user" : email) { username in
            try await counting(request, context) { proof, work in
                let fallback = isPrivate ? username : DisplayName.fallback(email: email, username: username)
                let account = Account(
                    id: work.ids.make(),
                    email: email,
                    passwordHash: nil,
                    username: username,
                    displayName: name ?? fallback,
                    zone: zone,
                    emailVerifiedAt: identity.token.isEmailVerified && !email.isEmpty ? work.now : nil,
                    now: work.now
                )
                let user = try await appleAccounts.account(of: identity, new: account, work)
                return try await issuer.signIn(user, proof: proof, work)
            }
        }
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
