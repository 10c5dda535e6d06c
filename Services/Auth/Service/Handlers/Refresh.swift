internal import AuthAPI
internal import AuthDomain
internal import Bus
internal import Kernel
internal import Outbox

extension AuthService {
    /// AU-4. What was decided is committed before a refusal is thrown: ending a stolen family must not be rolled back.
    func refresh(_ request: RefreshRequest, context: CallContext) async throws -> SignInReply {
        let hash = refreshTokens.hash(request.refreshToken)
        let successor = refreshTokens.successor(of: request.refreshToken)
        let outcome = try await mutations.work.run(context) { [self] work -> RefreshOutcome in
            guard let (session, user, token) = try await sessions.lock(tokenHash: hash, work.sql) else { return .refused }
            switch RefreshFamily.decide(token, now: work.now) {
            case .refuse: return .refused
            case .repeatSuccessor: return .granted(session, user, work.now)
            case .rotate:
                try await sessions.rotate(
                    session,
                    from: hash,
                    to: refreshTokens.hash(successor),
                    now: work.now,
                    work.sql
                )
                return .granted(session, user, work.now)
            case .revokeFamily:
                _ = try await sessions.revoke(session, of: user, now: work.now, work.sql)
                try await work.emit(
                    SessionsRevoked(userID: user.description, sessionIDs: [session.description], revokedAt: work.now)
                )
                return .stolen
            }
        }
        switch outcome {
        case .granted(let session, let user, let now):
            guard let account = try await accounts.find(user) else { throw Self.invalidRefreshToken }
            try await requireUsable(account)
            return try await reply(account, session: session, refreshToken: successor, now: now)
        case .refused: throw Self.invalidRefreshToken
        case .stolen:
            throw ServiceError(
                .unauthenticated,
                "REFRESH_TOKEN_REUSED",
                "This refresh token was used before; the session is ended."
            )
        }
    }

    private enum RefreshOutcome: Sendable {
        case granted(SessionID, UserID, Instant)
        case refused
        case stolen
    }

    private static let invalidRefreshToken = ServiceError(
        .unauthenticated,
        "INVALID_REFRESH_TOKEN",
        "The refresh token is not valid or has expired."
    )
}
