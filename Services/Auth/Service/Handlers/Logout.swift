internal import AuthAPI
internal import Bus
internal import Kernel
internal import Outbox

extension AuthService {
    /// AU-6. Idempotent: a session that is ended already counts as 0.
    func logout(_ request: LogoutRequest, context: CallContext) async throws -> LogoutReply {
        let user = try context.requireUser()
        let session = context.principal?.sessionID
        return try await mutations.run(context, request) { [self] work in
            if request.all { return LogoutReply(sessionsEnded: Int32(try await endSessions(of: user, work))) }
            guard let session, try await sessions.revoke(session, of: user, now: work.now, work.sql) else { return LogoutReply() }
            try await work.emit(
                SessionsRevoked(userID: user.description, sessionIDs: [session.description], revokedAt: work.now)
            )
            return LogoutReply(sessionsEnded: 1)
        }
    }
}
