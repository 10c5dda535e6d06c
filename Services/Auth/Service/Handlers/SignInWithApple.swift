internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Database
internal import Kernel
internal import Outbox

extension AuthService {
    /// AU-5. The token is verified outside the transaction, which may run again: somebody else may make the account meanwhile.
    func signInWithApple(_ request: SignInWithAppleRequest, context: CallContext) async throws -> SignInReply {
        let identity = try await apple.identity(request.identityToken, nonce: request.nonce)
        try Self.requireUnreserved(request.username)
        let zone = try Self.zone(name: request.timeZone, offsetMinutes: request.timezoneOffset) ?? .utc
        let name = AppleToken.name(
            display: request.displayName,
            full: request.fullName,
            given: request.givenName,
            family: request.familyName
        )
        let email = identity.token.email ?? ""
        // A relay address is nobody's business: neither username nor display name are made from it.
        let source = identity.hidesEmail || email.isEmpty ? name ?? "user" : email
        return try await naming(request.username, after: source) { [self] username in
            try await retryingIdentity {
                try await mutations.run(context, request) { work in
                    let fallback =
                        identity.hidesEmail || email.isEmpty ? username : DisplayName.fallback(email: email, username: username)
                    let account = Account(
                        id: work.ids.make(),
                        email: email,
                        passwordHash: nil,
                        username: username,
                        displayName: name ?? fallback,
                        avatarKey: "",
                        timeZone: zone.name,
                        timeZoneSince: work.now,
                        isAdmin: false,
                        status: .active,
                        emailVerifiedAt: identity.token.isEmailVerified && !email.isEmpty ? work.now : nil,
                        version: 1,
                        createdAt: work.now,
                        updatedAt: work.now
                    )
                    return try await signIn(try await self.account(of: identity.token, new: account, work), work)
                }
            }
        }
    }

    /// The account of an Apple user: the one it had before, the one it may be linked to, or `new`.
    private func account(of token: AppleToken, new: Account, _ work: UnitOfWork) async throws -> UserID {
        // Accounts are locked before what belongs to them, here as everywhere.
        if let account = try await appleUsers.account(of: token.subject, work.sql) {
            _ = try await accounts.hold(account, work.sql)
        }
        var known = try await appleUsers.lock(token.subject, work.sql)
        let holder = known != nil || token.email == nil ? nil : try await accounts.lock(email: new.email, work.sql)
        // The account may be the one that the same user's first sign-in has made while this one waited.
        if holder != nil { known = try await appleUsers.lock(token.subject, work.sql) }
        var state: AppleSignIn.Holder?
        if let holder {
            state = AppleSignIn.Holder(
                isEmailVerified: holder.emailVerifiedAt != nil,
                hasAppleUser: try await appleUsers.hasIdentity(holder.id, work.sql)
            )
        }
        switch AppleSignIn.decide(isKnown: known != nil, isEmailVerified: token.isEmailVerified, holder: state) {
        case .signIn:
            guard let known else { throw ServiceError.internal }
            try await appleUsers.restore(token.subject, now: work.now, work.sql)
            return known.account
        case .link:
            guard let holder else { throw ServiceError.internal }
            try await appleUsers.insert(token.subject, account: holder.id, now: work.now, work.sql)
            return holder.id
        case .create:
            try await create(new, work)
            try await appleUsers.insert(token.subject, account: new.id, now: work.now, work.sql)
            return new.id
        case .refuse: throw Self.emailTaken
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
