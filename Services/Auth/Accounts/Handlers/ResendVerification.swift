internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// Sends the link that verifies the caller's address once more (AU-13). Earlier links still work.
struct ResendVerification: MutationHandler {
    let accounts: AccountRepository
    let mails: AccountMails
    let client: ClientBudget
    let mutations: Mutations

    func handle(_ request: ResendVerificationRequest, _ context: CallContext) async throws -> Once<ResendVerificationReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { work in
            guard let account = try await accounts.lock(user, work.sql), account.status == .active else {
                throw ServiceError.sessionRevoked
            }
            guard !account.email.isEmpty else {
                throw ServiceError(.failedPrecondition, "NO_EMAIL", "This account has no e-mail address.")
            }
            guard account.emailVerifiedAt == nil else {
                throw ServiceError(.failedPrecondition, "EMAIL_ALREADY_VERIFIED", "This address is verified already.")
            }
            let keys = [.mailbox(account.email), .account(user)] + client.keys(context)
            try await MailLimitRepository.require(keys, now: work.now, work.sql)
            try await mails.send(.verification, to: account.email, of: account, work)
            return ResendVerificationReply(expiresIn: Int32(EmailToken.Purpose.verification.lifetime.seconds))
        }
    }
}
