internal import AuthAPI
internal import Database
internal import Kernel
internal import Outbox
internal import Passwords
internal import Replicas
public import Runtime
internal import Tokens

/// How `auth` is put together.
public enum AuthModule: ServiceModule {
    public static let name = "auth"
    public static let about = "accounts, sessions and profiles"
    public static let migrations = [
        MigrationSet("entitlement_replica", EntitlementReplica.migrations),
        MigrationSet(
            "auth",
            [
                Migration(version: 1, name: "accounts_and_sessions", sql: PackageResources.V0001_accounts_and_sessions_sql),
                Migration(version: 2, name: "revocations_by_time", sql: PackageResources.V0002_revocations_by_time_sql),
            ]
        ),
        MigrationSet("auth_lifecycle", [Migration(version: 1, name: "lifecycle", sql: PackageResources.V0101_lifecycle_sql)]),
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (AuthMethods.descriptorSet, AuthMethods.descriptorHash) }

    static let keyFolder = Setting<String>(
        "auth.key-folder",
        default: nil,
        help: "Folder of P-256 keys in PEM (*.pem) that sign access tokens; the last by name signs. One is made when it is empty."
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

    public static let settings: [any AnySetting] = [keyFolder, bcryptCost, refreshSecret]

    public static func assemble(_ environment: ServiceEnvironment) async throws -> ServiceAssembly {
        let settings = environment.settings
        let service = AuthService(
            accounts: AccountRepository(database: environment.database),
            sessions: SessionRepository(database: environment.database),
            revocations: RevocationRepository(database: environment.database),
            lifecycle: LifecycleRepository(database: environment.database),
            exports: ExportRepository(database: environment.database),
            sources: DataSources(environment.bus),
            passwords: PasswordHasher(cost: try settings.get(bcryptCost)),
            signer: try await TokenSigner(pemKeys: KeyFolder(path: try settings.get(keyFolder)).load()),
            refreshTokens: try RefreshTokens(secret: try settings.get(refreshSecret)),
            mutations: environment.mutations,
            clock: environment.clock,
            ids: environment.ids
        )
        return ServiceAssembly(
            endpoints: service.endpoints(),
            consumers: FactConsumers.all + [service.moderationHandler],
            jobs: [
                Job("expired_sessions", every: .seconds(60)) { now in try await service.sessions.purge(now: now) }
            ] + service.accountJobs
        )
    }
}
