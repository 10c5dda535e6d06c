internal import BillingAPI
internal import Database
internal import Kernel
internal import Outbox
internal import Runtime
public import ServiceRuntime

/// How `billing` is put together.
public enum BillingModule: ServiceModule {
    public static let name = "billing"
    public static let about = "entitlements and the ledgers of recovery tokens"
    private static let ownMigrations = [
        MigrationSet("billing", [Migration(version: 1, name: "ledgers", sql: PackageResources.V0001_ledgers_sql)]),
        MigrationSet(
            "billing_recovery",
            [
                Migration(version: 1, name: "refusals", sql: PackageResources.V0201_refusals_sql),
                Migration(version: 2, name: "refusals_by_user", sql: PackageResources.V0202_refusals_by_user_sql),
            ]
        ),
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (BillingMethods.descriptorSet, BillingMethods.descriptorHash) }

    public static let features = [ServiceFeature("tokens", migrations: ownMigrations, assemble: assemble)]

    @Sendable private static func assemble(_ environment: ServiceEnvironment) async throws -> FeatureParts {
        let service = service(database: environment.database, work: environment.work, clock: environment.clock)
        return FeatureParts(
            endpoints: service.endpoints(),
            consumers: [TokenEarnedConsumer.handler(service.tokens), TokenReturnedConsumer.handler(service.tokens)]
                + LifecycleConsumers.all,
            jobs: [
                Job("old_refusals", every: .seconds(600)) { now in
                    try await service.tokens.forgetRefusals(before: now - .days(7))
                }
            ]
        )
    }

    /// The service on a database.
    static func service(database: Database, work: UnitOfWorkFactory, clock: any Clock) -> BillingService {
        BillingService(
            tokens: TokenRepository(database: database),
            subscriptions: SubscriptionRepository(database: database),
            work: work,
            clock: clock
        )
    }
}
