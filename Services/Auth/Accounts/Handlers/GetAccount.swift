internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel

/// An account with its open sessions, for an administrator.
struct GetAccount: QueryHandler {
    let accounts: AccountRepository
    let lifecycle: LifecycleRepository
    let sessions: SessionRepository
    let log: AdminLog
    let clock: any Clock

    func handle(_ request: GetAccountRequest, _ context: CallContext) async throws -> AdminAccount {
        let admin = try context.requireAdmin()
        let user = request.userID
        guard let account = try await accounts.find(user), let life = try await lifecycle.find(user) else {
            throw ServiceError.notFound("account")
        }
        let open = try await sessions.open(of: user, now: clock.now())
        try await log.note(.readAccount, of: [user], by: admin, context)
        return AdminAccount(
            account: AccountEntry(account),
            standing: AccountStanding(life, of: user),
            emailVerified: account.emailVerifiedAt != nil,
            hasPassword: account.passwordHash != nil,
            timeZone: account.timeZone,
            timeZoneSince: account.timeZoneSince,
            locale: account.locale.isEmpty ? nil : account.locale,
            termsVersion: account.termsVersion,
            termsAcceptedAt: account.termsAcceptedAt,
            updatedAt: account.updatedAt,
            sessions: open
        )
    }
}
