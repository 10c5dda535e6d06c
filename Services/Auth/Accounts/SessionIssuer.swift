internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Kernel
internal import Outbox
internal import Tokens

/// Begins sessions and issues their tokens (AU-3, AU-4).
struct SessionIssuer: Sendable {
    /// Seconds an access token lives (AU-3).
    static let accessTokenLifetime: Int32 = 900

    let core: AuthCore
    let sessions: SessionRepository
    let keys: KeyRing
    let refreshTokens: RefreshTokens
    let factors: SecondFactors
    /// How long a session goes on after its last use (`auth.session-days`).
    let sessionLifetime: Interval

    /// A new session of an account, with its first pair of tokens.
    ///
    /// - Parameters:
    ///   - verified: the hash the password was compared with; one that was changed meanwhile lets no one in.
    ///   - proof: of the second factor; an account that has one gets no session without.
    /// - Throws: `PERMISSION_DENIED` for accounts that may not sign in, `INVALID_CREDENTIALS` for one that was removed, `PasswordChanged`, and
    ///   what `SecondFactors.require` throws.
    func signIn(_ id: UserID, verified: String? = nil, proof: SecondFactors.Proof, _ work: UnitOfWork) async throws
        -> SignInReply
    {
        guard let account = try await core.accounts.lockShared(id, work.sql) else { throw ServiceError.invalidCredentials }
        guard verified == nil || account.passwordHash == verified else { throw PasswordChanged() }
        try await requireUsable(id, work)
        try await factors.require(proof, of: account, work)
        let session: SessionID = work.ids.make()
        let token = refreshTokens.first()
        try await sessions.insert(
            session,
            account: account.id,
            tokenHash: refreshTokens.hash(token),
            now: work.now,
            expiresAt: work.now + sessionLifetime,
            work.sql
        )
        return try await reply(account, session: session, refreshToken: token, work)
    }

    /// The pair of tokens with the profile.
    func reply(_ account: Account, session: SessionID, refreshToken: String, _ work: UnitOfWork) async throws -> SignInReply {
        guard let me = try await core.accounts.me(account.id, now: work.now, on: work.sql) else { throw ServiceError.internal }
        let rights = try await factors.rights(of: account, work.sql)
        let access = AccessToken(
            userID: account.id,
            sessionID: session,
            email: account.email,
            role: rights == .admin ? .admin : .user,
            mustEnrol: rights == .enrolment,
            issuedAt: work.now,
            expiresAt: work.now + .seconds(Int64(Self.accessTokenLifetime))
        )
        return SignInReply(
            accessToken: try keys.sign(access),
            refreshToken: refreshToken,
            tokenType: "Bearer",
            expiresIn: Self.accessTokenLifetime,
            user: me
        )
    }

    /// Suspended, banned and deleted accounts cannot sign in; the refusal says when that ends (SO-9, AU-7). It stays so until the
    /// transaction ends.
    func requireUsable(_ id: UserID, _ work: UnitOfWork) async throws {
        guard let life = try await core.lifecycle.lockShared(id, work.sql) else { throw ServiceError.notFound("account") }
        if let refusal = life.refusal { throw refusal }
    }
}

/// The account has another password hash than the one that a password was compared with.
struct PasswordChanged: Error {}

extension ServiceError {
    static let invalidCredentials = ServiceError(.unauthenticated, "INVALID_CREDENTIALS", "E-mail or password is wrong.")
}
