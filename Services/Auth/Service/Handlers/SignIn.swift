internal import AuthAPI
internal import AuthDomain
internal import Kernel
internal import Outbox
internal import Tokens

extension AuthService {
    /// Seconds an access token lives (AU-3).
    static let accessTokenLifetime: Int32 = 900

    /// A new session of an account, with its first pair of tokens.
    ///
    /// - Parameter verified: the hash the password was compared with; one that was changed meanwhile lets nobody in.
    /// - Throws: `PERMISSION_DENIED` for accounts that may not sign in, `INVALID_CREDENTIALS` for one that is gone.
    func signIn(_ id: UserID, verified: String? = nil, _ work: UnitOfWork) async throws -> SignInReply {
        guard let account = try await accounts.hold(id, work.sql), verified == nil || account.passwordHash == verified else {
            throw Self.invalidCredentials
        }
        try await requireUsable(id, work)
        let session: SessionID = work.ids.make()
        let token = refreshTokens.first()
        try await sessions.insert(
            session,
            account: account.id,
            tokenHash: refreshTokens.hash(token),
            now: work.now,
            work.sql
        )
        return try await reply(account, session: session, refreshToken: token, work)
    }

    /// The pair of tokens with the profile.
    func reply(_ account: Account, session: SessionID, refreshToken: String, _ work: UnitOfWork) async throws -> SignInReply {
        guard let me = try await accounts.me(account.id, now: work.now, on: work.sql) else { throw ServiceError.internal }
        let access = AccessToken(
            userID: account.id,
            sessionID: session,
            email: account.email,
            role: account.isAdmin ? .admin : .user,
            issuedAt: work.now,
            expiresAt: work.now + .seconds(Int64(Self.accessTokenLifetime))
        )
        return SignInReply(
            accessToken: try await keys.sign(access),
            refreshToken: refreshToken,
            tokenType: "Bearer",
            expiresIn: Self.accessTokenLifetime,
            user: me
        )
    }

    /// Ends every session of an account. - Returns: how many there were.
    @discardableResult
    func endSessions(of account: UserID, _ work: UnitOfWork) async throws -> Int {
        try await SessionEnder(sessions: sessions).end(of: account, work)
    }
}
