internal import AuthAPI
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// Ends this session, or all of the user's (AU-6); with the reply every gateway knows it. A session that is ended already counts as 0.
struct Logout: MutationHandler {
    let ender: SessionEnder
    let revocations: RevocationPublisher
    let mutations: Mutations

    func handle(_ request: LogoutRequest, _ context: CallContext) async throws -> Once<LogoutReply> {
        let user = try context.requireUser()
        let session = context.principal?.sessionID
        let reply = try await mutations.once(context, request) { work in
            if request.all { return LogoutReply(sessionsEnded: Int32(try await ender.endAll(of: user, work))) }
            guard let session, try await ender.end(session, of: user, work) else { return LogoutReply() }
            return LogoutReply(sessionsEnded: 1)
        }
        try await revocations.publish(of: user)
        return reply
    }
}
