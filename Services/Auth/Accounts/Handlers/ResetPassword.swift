internal import AuthAPI
internal import AuthCore
internal import AuthDomain
internal import Bus
internal import Kernel
internal import Outbox
internal import Passwords
internal import ServiceRuntime

/// Sets a new password by the token of a mail (AU-13): once. All sessions end, other links for the old password no longer work, and who has read
/// the mail owns the address. Only a token that works costs a hash.
struct ResetPassword: MutationHandler {
    let accounts: AccountRepository
    let lifecycle: LifecycleRepository
    let writer: AccountWriter
    let tokens: EmailTokenRepository
    let mails: AccountMails
    let passwords: PasswordHasher
    let factors: SecondFactors
    let ender: SessionEnder
    let revocations: RevocationPublisher
    let mutations: Mutations

    func handle(_ request: ResetPasswordRequest, _ context: CallContext) async throws -> Once<ResetPasswordReply> {
        let tokenHash = mails.tokens.hash(request.token)
        guard let stored = try await tokens.find(tokenHash) else { throw EmailToken.invalid }
        let reply = try await mutations.alone(context, request) {
            if let refusal = stored.token.refusal(for: [.passwordReset], now: mutations.work.now()) { throw refusal }
            let hash = try await passwords.hash(request.newPassword, for: context.hashRequester(.newPassword))
            return try await mutations.once(context, request) { work in
                try await reset(tokenHash, to: hash, stored.account, work)
            }
        }
        try await revocations.publish(of: stored.account)
        return reply
    }

    private func reset(_ tokenHash: [UInt8], to hash: String, _ user: UserID, _ work: UnitOfWork) async throws
        -> ResetPasswordReply
    {
        // The account before what belongs to it.
        guard let account = try await accounts.lock(user, work.sql),
            let stored = try await EmailTokenRepository.lock(tokenHash, work.sql)
        else { throw EmailToken.invalid }
        if let refusal = stored.token.refusal(for: [.passwordReset], now: work.now) { throw refusal }
        try await lifecycle.requireNotDeleted(user, work.sql)
        try await accounts.store(passwordHash: hash, of: user, now: work.now, work.sql)
        try await EmailTokenRepository.markUsed(stored.id, now: work.now, work.sql)
        try await EmailTokenRepository.supersede([.passwordReset, .emailChange], of: user, now: work.now, work.sql)
        let emailKey = AccountRepository.key(ofEmail: account.email)
        if emailKey == AccountRepository.key(ofEmail: stored.token.address) {
            try await writer.verifyEmail(of: account, work)
        }
        // Not those of an account with a second factor: a reader of its mail could try ten codes for each link.
        if try await factors.repository.lock(user, work.sql)?.secret == nil {
            try await LoginFailureRepository.deleteAll(ofEmailKey: emailKey, now: work.now, work.sql)
        }
        let ended = try await ender.endAll(of: user, work)
        try await mails.inform(account, .passwordChanged, work)
        return ResetPasswordReply(sessionsEnded: Int32(ended))
    }
}
