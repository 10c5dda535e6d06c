internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// Notes that a new password is asked for (AU-13). Whether an account has the address is not looked up here but by a job, so that neither the
/// answer nor its time says so; the limits count an address whether an account has it or not.
struct RequestPasswordReset: MutationHandler {
    let challenges: Challenges
    let client: ClientBudget
    let mutations: Mutations

    func handle(_ request: RequestPasswordResetRequest, _ context: CallContext) async throws -> Once<RequestPasswordResetReply> {
        try await challenges.ask(context, request, mutations) { try await note(request, context) }
    }

    private func note(_ request: RequestPasswordResetRequest, _ context: CallContext) async throws
        -> Once<RequestPasswordResetReply>
    {
        try await mutations.once(context, request) { work in
            let keys = [.mailbox(request.email)] + client.keys(context)
            try await MailLimitRepository.require(keys, now: work.now, work.sql)
            let key = AccountRepository.key(ofEmail: request.email)
            try await MailQueueRepository.insert(
                PasswordRequest(emailKey: key, requestedAt: work.now),
                id: work.ids.make(),
                work.sql
            )
            return RequestPasswordResetReply(expiresIn: Int32(EmailToken.Purpose.passwordReset.lifetime.seconds))
        }
    }
}
