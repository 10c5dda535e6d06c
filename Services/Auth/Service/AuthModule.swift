internal import AuthAPI
internal import AuthDomain
internal import BlobConfiguration
internal import Database
internal import Kernel
internal import Outbox
internal import OutgoingHTTP
internal import Passwords
internal import Replicas
public import Runtime
public import ServiceRuntime

/// How `auth` is put together.
public enum AuthModule: ServiceModule {
    public static let name = "auth"
    public static let about = "accounts, sessions and profiles"
    private static let ownMigrations = [
        MigrationSet("entitlement_replica", EntitlementReplica.migrations),
        MigrationSet("block_replica", BlockReplica.migrations),
        MigrationSet(
            "auth",
            [
                Migration(version: 1, name: "accounts_and_sessions", sql: PackageResources.V0001_accounts_and_sessions_sql),
                Migration(version: 2, name: "revocations_by_time", sql: PackageResources.V0002_revocations_by_time_sql),
                Migration(
                    version: 3,
                    name: "apple_guests_and_limits",
                    sql: PackageResources.V0003_apple_guests_and_limits_sql
                ),
            ]
        ),
        MigrationSet(
            "auth_lifecycle",
            [
                Migration(version: 1, name: "lifecycle", sql: PackageResources.V0101_lifecycle_sql),
                Migration(version: 2, name: "sessions_of_accounts", sql: PackageResources.V0102_sessions_of_accounts_sql),
            ]
        ),
        MigrationSet("auth_window", [Migration(version: 1, name: "window", sql: PackageResources.V0401_window_sql)]),
        MigrationSet("auth_avatars", [Migration(version: 1, name: "avatars", sql: PackageResources.V0401_avatars_sql)]),
        MigrationSet("auth_exports", [Migration(version: 1, name: "data_exports", sql: PackageResources.V0501_data_exports_sql)]),
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (AuthDescriptor.bytes, AuthDescriptor.hash) }

    public static var commands: [ProgramCommand] { AuthCommands.all }

    static let keyFolder = Setting<String>(
        "auth.key-folder",
        default: nil,
        help: "Folder of P-256 keys in PEM (*.pem) that sign access tokens; the newest signs. One is made when it is empty."
    )
    static let bcryptCost = Setting(
        "auth.bcrypt-cost",
        default: 12,
        help: "Cost of new password hashes, 4 to 14; each step doubles the time."
    )
    static let refreshSecret = Setting<String>(
        "auth.refresh-secret",
        default: nil,
        isSecret: true,
        help: "At least 32 characters; successors of refresh tokens are derived with it."
    )

    static let appleClients = Setting(
        "auth.apple-client-ids",
        default: "",
        help:
            "Ids of the apps that sign in with Apple (bundle or service ids), separated by commas. None: Sign in with Apple is off."
    )
    static let appleKeys = Setting(
        "auth.apple-keys-url",
        default: "https://appleid.apple.com/auth/keys",
        help: "Where Apple's public keys are; https, or http on this machine."
    )

    static let termsVersion = Setting(
        "auth.terms-version",
        default: "",
        help:
            "The version of the terms in force, as 2026-01 or 2.1: only it can be accepted. Empty: any that is not older than the accepted one."
    )

    private static let ownSettings: [any AnySetting] =
        [keyFolder, bcryptCost, refreshSecret, appleClients, appleKeys, termsVersion, LinkSettings.publicURL] + BlobSettings.all

    public static let features = [
        ServiceFeature(
            "accounts",
            settings: ownSettings,
            migrations: ownMigrations,
            personalData: [.accounts, EntitlementReplica.personalData(exportedAs: "plan"), BlockReplica.personalData],
            assemble: assemble
        )
    ]

    @Sendable private static func assemble(_ environment: ServiceEnvironment) async throws -> FeatureParts {
        let settings = environment.settings
        let accounts = AccountRepository(
            database: environment.database,
            avatars: AvatarLinks(base: try settings.get(LinkSettings.publicURL))
        )
        let exports = DataExportRepository(database: environment.database)
        let sources = DataSources(environment.bus, own: PersonalDataExporter(personalData, environment))
        let service = AuthService(
            accounts: accounts,
            sessions: SessionRepository(database: environment.database),
            revocations: RevocationRepository(database: environment.database),
            lifecycle: LifecycleRepository(database: environment.database),
            blocks: BlockReplica(database: environment.database, bus: environment.bus),
            exportMyData: ExportMyData(
                accounts: accounts,
                exports: exports,
                sources: sources,
                links: try ExportLinks(settings),
                clock: environment.clock
            ),
            loginFailures: LoginFailureRepository(database: environment.database),
            guests: GuestRepository(database: environment.database),
            appleUsers: AppleRepository(database: environment.database),
            apple: try appleVerifier(environment),
            passwords: PasswordHasher(cost: try settings.get(bcryptCost)),
            keys: try await KeyRing.open(KeyFolder(path: try settings.get(keyFolder)), logger: environment.logger),
            refreshTokens: try RefreshTokens(secret: try settings.get(refreshSecret)),
            termsInForce: try termsInForce(settings),
            mutations: environment.mutations,
            clock: environment.clock,
            ids: environment.ids,
            logger: environment.logger
        )
        let exportJobs = ExportJobs(
            repository: exports,
            sources: sources,
            blobs: try await BlobSettings.store(settings, logger: environment.logger),
            work: environment.work,
            ids: environment.ids,
            logger: environment.logger
        )
        let purge = AccountPurge(
            lifecycle: service.lifecycle,
            eraser: try PersonalDataEraser(personalData, environment),
            work: environment.work
        )
        return FeatureParts(
            endpoints: service.endpoints(),
            consumers: FactConsumers.all + service.blocks.handlers() + [service.moderationHandler, service.avatarHandler],
            jobs: [
                Job("expired_sessions", every: .seconds(60)) { now in try await service.sessions.purge(now: now) },
                Job("old_login_failures", every: .seconds(60)) { now in try await service.loginFailures.purge(now: now) },
                Job("idle_guests", every: .seconds(600)) { now in try await service.guests.purge(now: now) },
                Job("old_apple_notifications", every: .seconds(600)) { now in try await service.appleUsers.purge(now: now) },
                Job("block_snapshot", every: .seconds(60)) { _ in
                    try await service.blocks.loadSnapshotOnce(context: .expiring(in: .minutes(10)))
                    return 0
                },
                Job("signing_keys", every: .seconds(5)) { _ in
                    try await service.keys.refresh()
                    return 0
                },
            ] + service.accountJobs + [purge.job] + exportJobs.all
        )
    }

    private static func termsInForce(_ settings: Settings) throws -> TermsVersion? {
        let text = try settings.get(termsVersion)
        guard !text.isEmpty else { return nil }
        guard let version = TermsVersion(text) else {
            throw Settings.Invalid("--auth-terms-version must be numbers between dots or hyphens, 2.1 or 2026-01.")
        }
        return version
    }

    private static func appleVerifier(_ environment: ServiceEnvironment) throws -> AppleVerifier {
        let clients = try environment.settings.get(appleClients).split(separator: ",").map { $0.filter { $0 != " " } }
        return AppleVerifier(
            clients: Set(clients.filter { !$0.isEmpty }),
            keys: AppleKeys(
                url: try environment.settings.get(appleKeys),
                http: OutgoingHTTP(),
                clock: environment.clock,
                logger: environment.logger
            ),
            clock: environment.clock
        )
    }
}
