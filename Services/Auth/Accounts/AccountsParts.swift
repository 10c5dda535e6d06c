internal import AuthAPI
internal import AuthCore
internal import BillingAPI
internal import Bus
internal import Kernel
internal import OutgoingHTTP
internal import Passwords
internal import Runtime
internal import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI

/// How the feature is put together.
struct AccountsParts {
    private let environment: ServiceEnvironment
    private let core: AuthCore
    private let sessions: SessionRepository
    private let loginFailures: LoginFailureRepository
    private let guests: GuestRepository
    private let appleUsers: AppleRepository
    private let apple: AppleVerifier
    private let passwords: PasswordHasher
    private let keys: KeyRing
    private let signer: ServiceKey?
    private let refreshTokens: RefreshTokens
    private let ender: SessionEnder
    private let revocations: RevocationPublisher
    private let issuer: SessionIssuer
    private let lifecycle: AccountLifecycle
    private let purge: AccountPurge
    private let exports: Exports
    private let owner: OwnerProof
    private let mails: AccountMails
    private let registrations: RegistrationBudget
    private let challenges: Challenges
    private let areRegistrationsPrivate: Bool
    private let email: EmailParts
    private let administration: AdminParts
    private let secondFactor: SecondFactorParts

    init(_ environment: ServiceEnvironment, _ declared: [PersonalData]) async throws {
        let (settings, database) = (environment.settings, environment.database)
        self.environment = environment
        core = try AuthCore(environment)
        sessions = SessionRepository(database: database)
        loginFailures = LoginFailureRepository(database: database)
        guests = GuestRepository(database: database)
        appleUsers = AppleRepository(database: database)
        apple = try Self.appleVerifier(environment)
        passwords = PasswordHasher(cost: try settings.get(AccountsFeature.bcryptCost))
        keys = try await KeyRing.open(
            KeyFolder(path: try settings.get(AccountsFeature.keyFolder)),
            logger: environment.logger
        )
        signer = try settings.find(ServiceKeySettings.key)
        let secret = try settings.get(AccountsFeature.refreshSecret)
        refreshTokens = try RefreshTokens(secret: secret)
        mails = AccountMails(tokens: EmailTokens(secret: secret))
        registrations = try RegistrationBudget(environment)
        challenges = try Challenges(environment, secret: secret)
        areRegistrationsPrivate = try settings.get(AccountsFeature.privateRegistration)
        ender = SessionEnder(database: database)
        revocations = RevocationPublisher(
            repository: RevocationRepository(database: database),
            jetStream: JetStream(connection: environment.bus),
            logger: environment.logger
        )
        let factors = try Self.factors(environment, core, mails, failures: loginFailures, secret: secret)
        issuer = SessionIssuer(
            core: core,
            sessions: sessions,
            keys: keys,
            refreshTokens: refreshTokens,
            factors: factors,
            sessionLifetime: .days(Int64(try settings.get(AccountsFeature.sessionDays)))
        )
        lifecycle = AccountLifecycle(repository: core.lifecycle, writer: core.writer, ender: ender, mails: mails)
        purge = AccountPurge(
            lifecycle: core.lifecycle,
            eraser: try PersonalDataEraser(declared, environment),
            work: environment.work
        )
        exports = try await Exports(environment, declared)
        owner = OwnerProof(
            loginFailures: loginFailures,
            passwords: passwords,
            apple: apple,
            appleUsers: appleUsers,
            clock: environment.clock
        )
        email = try EmailParts(
            environment,
            core,
            mails,
            budget: registrations,
            challenges: challenges,
            owner: owner,
            factors: factors,
            sessions: (ender, revocations)
        )
        administration = AdminParts(environment, core, lifecycle, sessions: (ender, revocations), exports.desk)
        secondFactor = SecondFactorParts(environment, core, factors, owner: owner, sessions: (ender, revocations))
    }

    private static func factors(
        _ environment: ServiceEnvironment,
        _ core: AuthCore,
        _ mails: AccountMails,
        failures: LoginFailureRepository,
        secret: String
    ) throws -> SecondFactors {
        SecondFactors(
            repository: SecondFactorRepository(database: environment.database),
            accounts: core.accounts,
            failures: failures,
            secrets: SecondFactorSecrets(secret: secret),
            mails: mails,
            rule: try AccountsFeature.secondFactorRule(environment.settings),
            clock: environment.clock,
            codeClock: SystemClock(),
            logger: environment.logger
        )
    }

    var all: FeatureParts {
        let revocations = revocations
        return FeatureParts(
            endpoints: endpoints + email.endpoints + administration.endpoints + secondFactor.endpoints,
            consumers: [ModerationConsumer(lifecycle: lifecycle).handler] + AdminActionConsumers.all,
            jobs: jobs + email.jobs,
            protection: { while try await revocations.publishDue() == RevocationRepository.pageSize {} }
        )
    }

    private var endpoints: [Endpoint] {
        let (mutations, clock) = (environment.mutations, environment.clock)
        return AccountsService.endpoints(
            register: Register(
                challenges: challenges,
                budget: registrations,
                privately: areRegistrationsPrivate ? email.registrations : nil,
                accounts: core.accounts,
                writer: core.writer,
                naming: AccountNaming(ids: environment.ids),
                passwords: passwords,
                issuer: issuer,
                mails: mails,
                mutations: mutations
            ),
            login: Login(
                accounts: core.accounts,
                lifecycle: core.lifecycle,
                loginFailures: loginFailures,
                passwords: passwords,
                issuer: issuer,
                factors: issuer.factors,
                mutations: mutations,
                clock: clock
            ),
            refresh: Refresh(
                accounts: core.accounts,
                sessions: sessions,
                refreshTokens: refreshTokens,
                issuer: issuer,
                ender: ender,
                revocations: revocations,
                mutations: mutations
            ),
            logout: Logout(ender: ender, revocations: revocations, mutations: mutations),
            getSigningKeys: GetSigningKeys(keys: keys, signer: signer),
            signInWithApple: SignInWithApple(
                apple: apple,
                appleAccounts: AppleAccounts(
                    appleUsers: appleUsers,
                    accounts: core.accounts,
                    writer: core.writer,
                    mails: mails,
                    ender: ender
                ),
                naming: AccountNaming(ids: environment.ids),
                lifecycle: core.lifecycle,
                owner: owner,
                issuer: issuer,
                revocations: revocations,
                areRegistrationsPrivate: areRegistrationsPrivate,
                mutations: mutations
            ),
            appleNotification: AppleNotification(
                apple: apple,
                appleUsers: appleUsers,
                accounts: core.accounts,
                lifecycle: lifecycle,
                revocations: revocations,
                mutations: mutations
            ),
            createGuestSession: CreateGuestSession(
                challenges: challenges,
                guests: guests,
                keys: keys,
                mutations: mutations
            ),
            getChallenge: GetChallenge(challenges: challenges),
            useGuestPeek: UseGuestPeek(guests: guests, mutations: mutations),
            deleteAccount: DeleteAccount(
                accounts: core.accounts,
                lifecycle: lifecycle,
                owner: owner,
                revocations: revocations,
                billing: BillingClient(environment.bus),
                mutations: mutations
            ),
            restoreAccount: RestoreAccount(
                accounts: core.accounts,
                lifecycle: lifecycle,
                friends: FriendsClient(environment.bus),
                streaks: MutualClient(environment.bus),
                mutations: mutations
            ),
            exportMyData: ExportMyData(accounts: core.accounts, desk: exports.desk)
        )
    }

    private var jobs: [Job] {
        let (sessions, loginFailures, guests, appleUsers, keys) = (sessions, loginFailures, guests, appleUsers, keys)
        let revocations = revocations
        return [
            Job("expired_sessions", every: .seconds(60)) { now in try await sessions.purge(now: now) },
            Job("old_login_failures", every: .seconds(60)) { now in try await loginFailures.purge(now: now) },
            Job("idle_guests", every: .seconds(600)) { now in try await guests.purge(now: now) },
            Job("old_known_clients", every: .seconds(600)) { [database = environment.database] now in
                try await KnownClientRepository.purge(now: now, database)
            },
            Job("old_guest_addresses", every: .seconds(600)) { now in try await guests.purgeAddresses(now: now) },
            Job("old_apple_notifications", every: .seconds(600)) { now in try await appleUsers.purge(now: now) },
            Job("revocations", every: .seconds(1)) { now in try await revocations.maintain(now: now) },
            Job("signing_keys", every: .seconds(5)) { _ in
                try await keys.refresh()
                return 0
            },
        ] + AccountJobs(lifecycle: lifecycle, work: environment.work).all + [purge.job] + exports.jobs
    }

    private static func appleVerifier(_ environment: ServiceEnvironment) throws -> AppleVerifier {
        AppleVerifier(
            clients: Set(try environment.settings.get(AccountsFeature.appleClients).settingEntries),
            keys: AppleKeys(
                url: try environment.settings.get(AccountsFeature.appleKeys),
                http: OutgoingHTTP(),
                clock: environment.clock,
                logger: environment.logger
            ),
            clock: environment.clock
        )
    }
}
