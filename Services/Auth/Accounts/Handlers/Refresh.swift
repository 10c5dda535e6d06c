internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import Outbox
internal import ServiceRuntime

/// Exchanges a refresh token for a new pair (AU-4). A theft is dealt with in a transaction of its own: the refusal rolls the first one back.
struct Refresh: MutationHandler {
    let accounts: AccountRepository
    let sessions: SessionRepository
    let refreshTokens: RefreshTokens
    let issuer: SessionIssuer
    let ender: SessionEnder
    let revocations: RevocationPublisher
    let mutations: Mutations

    func handle(_ request: RefreshRequest, _ context: CallContext) async throws -> Once<SignInReply> {
        do {
            return try await mutations.once(context, request) { work in
                try await exchange(request.refreshToken, from: context.clientAddress, work)
            }
        } catch is StolenToken {
            try await endStolenFamily(request.refreshToken, context)
            throw ServiceError(
                .unauthenticated,
                "REFRESH_TOKEN_REUSED",
                "This refresh token was used before; the session is ended."
            )
        }
    }

    private struct StolenToken: Error {}

    private func exchange(_ token: String, from address: IPAddress?, _ work: UnitOfWork) async throws -> SignInReply {
        let hash = refreshTokens.hash(token)
        // The account before the session, as wherever sessions are ended.
        guard let owner = try await sessions.owner(ofToken: hash, work.sql),
            let account = try await accounts.lockShared(owner, work.sql),
            let (session, _, presented) = try await sessions.lock(tokenHash: hash, work.sql)
        else { throw Self.invalidRefreshToken }
        let successor = refreshTokens.successor(of: token)
        let expiresAt = work.now + issuer.sessionLifetime
        let next = refreshTokens.hash(successor)
        switch RefreshFamily.decide(presented, now: work.now) {
        case .refuse: throw Self.invalidRefreshToken
        case .revokeFamily: throw StolenToken()
        case .repeatSuccessor:
            let isGiven = try await sessions.prolong(
                session,
                from: hash,
                newest: next,
                now: work.now,
                expiresAt: expiresAt,
                work.sql
            )
            // A token that is not stored would be refused at its first use.
            guard isGiven else { throw Self.invalidRefreshToken }
        case .rotate:
            try await sessions.rotate(session, from: hash, to: next, now: work.now, expiresAt: expiresAt, work.sql)
        }
        try await issuer.requireUsable(account.id, work)
        try await KnownClientRepository.note(account.id, at: address, now: work.now, work.sql)
        return try await issuer.reply(account, session: session, refreshToken: successor, work)
    }

    private func endStolenFamily(_ token: String, _ context: CallContext) async throws {
        let hash = refreshTokens.hash(token)
        let owner = try await mutations.work.run(context) { work -> UserID? in
            // Once stolen stays stolen: neither time nor a rotation since can make it the preceding token again.
            guard let (session, user, presented) = try await sessions.lock(tokenHash: hash, work.sql),
                RefreshFamily.decide(presented, now: work.now) == .revokeFamily
            else { return nil }
            try await ender.end(session, of: user, work)
            return user
        }
        if let owner { try await revocations.publish(of: owner) }
    }

    private static let invalidRefreshToken = ServiceError(
        .unauthenticated,
        "INVALID_REFRESH_TOKEN",
        "The refresh token is not valid or has expired."
    )
}
