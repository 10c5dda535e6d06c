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
            var ended = 0
            if request.all {
                ended = try await sessions.revokeAll(of: user, now: work.now, work.sql)
            } else if let session, try await sessions.revoke(session, of: user, now: work.now, work.sql) {
                ended = 1
            }
            if ended > 0 {
                let ids = request.all ? [] : [session].compactMap { $0?.description }
                try await work.emit(SessionsRevoked(userID: user.description, sessionIDs: ids, revokedAt: work.now))
            }
            return LogoutReply(sessionsEnded: Int32(ended))
        }
    }
}
