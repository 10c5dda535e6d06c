internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import ServiceRuntime

/// Sends a link to a new address of the caller, who proves to own the account (AU-13). Whether another account has the address is not looked up
/// before its owner has used the link.
struct ChangeEmail: MutationHandler {
    let accounts: AccountRepository
    let owner: OwnerProof
    let mails: AccountMails
    let client: ClientBudget
    let mutations: Mutations

    func handle(_ request: ChangeEmailRequest, _ context: CallContext) async throws -> Once<ChangeEmailReply> {
        let user = try context.requireUser()
        return try await mutations.alone(context, request) { try await change(request, of: user, context) }
    }

    private func change(_ request: ChangeEmailRequest, of user: UserID, _ context: CallContext) async throws
        -> Once<ChangeEmailReply>
    {
        guard let account = try await accounts.find(user) else { throw ServiceError.notFound("account") }
        try await owner.require(request, of: account, context)
        let email = EmailAddress.trimmed(request.email)
        return try await mutations.once(context, request) { work in
            guard let account = try await accounts.lock(user, work.sql), account.status == .active else {
                throw ServiceError.sessionRevoked
            }
            guard AccountRepository.key(ofEmail: account.email) != AccountRepository.key(ofEmail: email) else {
                throw ServiceError(
                    .failedPrecondition,
                    "EMAIL_UNCHANGED",
                    "This is the address of the account already.",
                    details: [.init(field: "email", message: "is the present one")]
                )
            }
            // Accounts without a confirmed address are made at once: many of them have the share of their client.
            let shared = account.emailVerifiedAt == nil ? client.keys(context) : []
            try await MailLimitRepository.require([.mailbox(email), .account(user)] + shared, now: work.now, work.sql)
            // Only the newest wish counts.
            try await EmailTokenRepository.supersede([.emailChange], of: user, now: work.now, work.sql)
            try await mails.send(.emailChange, to: email, of: account, work)
            return ChangeEmailReply(
                pendingEmail: email,
                expiresIn: Int32(EmailToken.Purpose.emailChange.lifetime.seconds)
            )
        }
    }
}
