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
    /// Also where registrations are not private (any more): links that were sent work.
    let registrations: PrivateRegistrations

    /// - Parameters:
    ///   - budget: with what a client address may ask for.
    ///   - challenges: what is asked of who has no session.
    ///   - sessions: ends sessions, and reports which ended.
    /// - Throws: `Settings.Invalid`.
    init(
        _ environment: ServiceEnvironment,
        _ core: AuthCore,
        _ mails: AccountMails,
        budget: RegistrationBudget,
        challenges: Challenges,
        owner: OwnerProof,
        factors: SecondFactors,
        sessions: (ender: SessionEnder, revocations: RevocationPublisher)
    ) throws {
        let (mutations, client) = (environment.mutations, budget.client)
        let tokens = EmailTokenRepository(database: environment.database)
        let limits = MailLimitRepository(database: environment.database)
        let base = try environment.settings.get(LinkSettings.publicURL)
        if base.isEmpty { environment.logger.warning("links in mails do not work: \(LinkSettings.publicURL.argument) is empty") }
        let (links, notifications) = (MailLinks(base: base), MailClient(environment.bus))
        let registrations = PrivateRegistrations(environment, core, mails, links, notifications)
        self.registrations = registrations
        endpoints = EmailService.endpoints(
            requestPasswordReset: RequestPasswordReset(challenges: challenges, client: client, mutations: mutations),
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
                registrations: registrations,
                mutations: mutations
            ),
            resendVerification: ResendVerification(accounts: core.accounts, mails: mails, client: client, mutations: mutations),
            changeEmail: ChangeEmail(accounts: core.accounts, owner: owner, mails: mails, client: client, mutations: mutations),
            getMailAddress: GetMailAddress(accounts: core.accounts)
        )
        let dispatch = MailDispatch(environment, core, mails, links, notifications)
        jobs =
            dispatch.jobs + registrations.jobs + [
                Job("old_email_tokens", every: .seconds(600)) { now in try await tokens.purge(now: now) },
                Job("old_mail_limits", every: .seconds(60)) { now in try await limits.purge(now: now) },
                Job("old_registration_minutes", every: .seconds(60)) { now in try await budget.purge(now: now) },
            ]
    }
}

extension PrivateRegistrations {
    fileprivate init(
        _ environment: ServiceEnvironment,
        _ core: AuthCore,
        _ mails: AccountMails,
        _ links: MailLinks,
        _ notifications: MailClient
    ) {
        self.init(
            repository: RegistrationRepository(database: environment.database),
            accounts: core.accounts,
            writer: core.writer,
            naming: AccountNaming(ids: environment.ids),
            names: core.names,
            mails: mails,
            links: links,
            notifications: notifications,
            mutations: environment.mutations,
            ids: environment.ids,
            logger: environment.logger
        )
    }
}

extension MailDispatch {
    fileprivate init(
        _ environment: ServiceEnvironment,
        _ core: AuthCore,
        _ mails: AccountMails,
        _ links: MailLinks,
        _ notifications: MailClient
    ) {
        self.init(
            queue: MailQueueRepository(database: environment.database),
            accounts: core.accounts,
            mails: mails,
            links: links,
            notifications: notifications,
            work: environment.work,
            ids: environment.ids,
            logger: environment.logger
        )
    }
}
