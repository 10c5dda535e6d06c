internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import Passwords
internal import ServiceRuntime

/// Changes the caller's password (AU-13): the present one is asked for, all other sessions end, and links for the old one no longer work.
struct ChangePassword: MutationHandler {
    let accounts: AccountRepository
    let owner: OwnerProof
    let mails: AccountMails
    let passwords: PasswordHasher
    let ender: SessionEnder
    let revocations: RevocationPublisher
    let mutations: Mutations

    func handle(_ request: ChangePasswordRequest, _ context: CallContext) async throws -> Once<ChangePasswordReply> {
        let user = try context.requireUser()
        let reply = try await mutations.alone(context, request) { try await change(user, request, context) }
        try await revocations.publish(of: user)
        return reply
    }

    private func change(_ user: UserID, _ request: ChangePasswordRequest, _ context: CallContext) async throws
        -> Once<ChangePasswordReply>
    {
        guard let account = try await accounts.find(user), account.status == .active else { throw ServiceError.sessionRevoked }
        guard let old = account.passwordHash else {
            throw ServiceError(
                .failedPrecondition,
                "NO_PASSWORD",
                "This account has no password. Have a link sent to its e-mail address to set one."
            )
        }
        try await owner.require(request.currentPassword, matching: old, of: account, field: "current_password", context)
        let new = try await passwords.hash(request.newPassword, for: context.hashRequester(.newPassword))
        let session = context.principal?.sessionID
        return try await mutations.once(context, request) { work in
            guard let account = try await accounts.lock(user, work.sql), account.status == .active else {
                throw ServiceError.sessionRevoked
            }
            // Another change was faster.
            guard account.passwordHash == old else { throw ServiceError.wrongPassword(field: "current_password") }
            try await accounts.store(passwordHash: new, of: user, now: work.now, work.sql)
            try await EmailTokenRepository.supersede([.passwordReset, .emailChange], of: user, now: work.now, work.sql)
            let ended = try await ender.endAll(of: user, except: session, work)
            try await mails.inform(account, .passwordChanged, work)
            return ChangePasswordReply(sessionsEnded: Int32(ended))
        }
    }
}
