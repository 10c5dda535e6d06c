internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// An administrator ends every session of a user; with the reply every gateway knows it.
struct SignOutAccount: MutationHandler {
    let lifecycle: LifecycleRepository
    let ender: SessionEnder
    let revocations: RevocationPublisher
    let mutations: Mutations

    func handle(_ request: SignOutAccountRequest, _ context: CallContext) async throws -> Once<SignOutAccountReply> {
        let admin = try context.requireAdmin()
        let user = request.userID
        let reply = try await mutations.once(context, request) { work in
            guard try await lifecycle.lock(user, work.sql) != nil else { throw ServiceError.notFound("account") }
            let ended = try await ender.endAll(of: user, work)
            try await AdminLog.note(.signOutAccount, of: user, by: admin, "sessions ended: \(ended)", context, work)
            return SignOutAccountReply(sessionsEnded: Int32(clamping: ended))
        }
        try await revocations.publish(of: user)
        return reply
    }
}
