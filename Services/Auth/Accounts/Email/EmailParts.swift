internal import AuthAPI
internal import AuthCore
internal import Bus
internal import Kernel
internal import Logging
internal import NotificationsAPI
internal import Runtime
internal import ServiceRuntime

/// How the RPCs of `Email` and what brings their mails away are put together.
struct EmailParts {
    let endpoints: [Endpoint]
    let jobs: [Job]

    /// - Parameter sessions: ends sessions, and reports which ended.
    /// - Throws: `Settings.Invalid`.
    init(
        _ environment: ServiceEnvironment,
        _ core: AuthCore,
        _ mails: AccountMails,
        owner: OwnerProof,
        factors: SecondFactors,
        sessions: (ender: SessionEnder, revocations: RevocationPublisher)
    ) throws {
        let mutations = environment.mutations
        let tokens = EmailTokenRepository(database: environment.database)
        let limits = MailLimitRepository(database: environment.database)
        let base = try environment.settings.get(LinkSettings.publicURL)
        if base.isEmpty { environment.logger.warning("links in mails do not work: \(LinkSettings.publicURL.argument) is empty") }
        endpoints = EmailService.endpoints(
            requestPasswordReset: RequestPasswordReset(mutations: mutations),
            resetPassword: ResetPassword(
                accounts: core.accounts,
                lifecycle: core.lifecycle,
                writer: core.writer,
                tokens: tokens,
                mails: mails,
                passwords: owner.passwords,
                factors: factors,
                ender: sessions.ender,
                revocations: sessions.revocations,
                mutations: mutations
            ),
            changePassword: ChangePassword(
                accounts: core.accounts,
                owner: owner,
                mails: mails,
                passwords: owner.passwords,
                ender: sessions.ender,
                revocations: sessions.revocations,
                mutations: mutations
            ),
            verifyEmail: VerifyEmail(
                accounts: core.accounts,
                lifecycle: core.lifecycle,
                writer: core.writer,
                tokens: tokens,
                mails: mails,
                mutations: mutations
            ),
            resendVerification: ResendVerification(accounts: core.accounts, mails: mails, mutations: mutations),
            changeEmail: ChangeEmail(accounts: core.accounts, owner: owner, mails: mails, mutations: mutations),
            getMailAddress: GetMailAddress(accounts: core.accounts)
        )
        let dispatch = MailDispatch(
            queue: MailQueueRepository(database: environment.database),
            accounts: core.accounts,
            mails: mails,
            links: MailLinks(base: base),
            notifications: MailClient(environment.bus),
            work: environment.work,
            ids: environment.ids,
            logger: environment.logger
        )
        jobs =
            dispatch.jobs + [
                Job("old_email_tokens", every: .seconds(600)) { now in try await tokens.purge(now: now) },
                Job("old_mail_limits", every: .seconds(60)) { now in try await limits.purge(now: now) },
            ]
    }
}
