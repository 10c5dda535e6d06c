internal import AuthAPI
internal import AuthDomain
internal import Kernel
internal import Outbox
internal import Tokens

extension AuthService {
    /// Seconds an access token lives (AU-3).
    static let accessTokenLifetime: Int32 = 900

    /// A new session of `account`, with its first pair of tokens.
    func signIn(_ account: Account, _ work: UnitOfWork) async throws -> SignInReply {
        // Checked again: verifying a password takes long enough for the account to be shut meanwhile.
        if let refusal = try await lifecycle.hold(account.id, work.sql)?.refusal { throw refusal }
        let session: SessionID = work.ids.make()
        let token = refreshTokens.first()
        try await sessions.insert(
            session,
            account: account.id,
            tokenHash: refreshTokens.hash(token),
            now: work.now,
            work.sql
        )
        return try await reply(account, session: session, refreshToken: token, now: work.now)
    }

    /// The pair of tokens with the profile.
    func reply(_ account: Account, session: SessionID, refreshToken: String, now: Instant) async throws -> SignInReply {
        let access = AccessToken(
            userID: account.id,
            sessionID: session,
            email: account.email,
            role: account.isAdmin ? .admin : .user,
            issuedAt: now,
            expiresAt: now + .seconds(Int64(Self.accessTokenLifetime))
        )
        return SignInReply(
            accessToken: try await signer.sign(access),
            refreshToken: refreshToken,
            tokenType: "Bearer",
            expiresIn: Self.accessTokenLifetime,
            user: try await accounts.me(account.id) ?? account.asMe
        )
    }
}

extension Account {
    /// The user's own view of an account that is not committed yet.
    var asMe: Me {
        Me(
            id: id.description,
            email: email,
            username: username,
            displayName: displayName,
            avatarURL: nil,
            timeZone: timeZone,
            isPremium: false,
            isAdmin: isAdmin,
            createdAt: createdAt,
            updatedAt: updatedAt,
            stats: MyStreakStats(),
            termsVersion: termsVersion
        )
    }
}
