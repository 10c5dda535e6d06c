internal import BillingAPI
internal import Database
internal import Kernel
internal import Outbox
public import Runtime

/// How `billing` is put together.
public enum BillingModule: ServiceModule {
    public static let name = "billing"
    public static let about = "entitlements and the ledgers of recovery tokens"
    public static let migrations = [
        MigrationSet("billing", [Migration(version: 1, name: "ledgers", sql: PackageResources.V0001_ledgers_sql)])
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (BillingMethods.descriptorSet, BillingMethods.descriptorHash) }

    public static func assemble(_ environment: ServiceEnvironment) async throws -> ServiceAssembly {
        let service = BillingService(
            tokens: TokenRepository(database: environment.database),
            subscriptions: SubscriptionRepository(database: environment.database),
            clock: environment.clock
        )
        return ServiceAssembly(
            endpoints: service.endpoints(),
            consumers: [TokenEarnedConsumer.handler(service.tokens)] + LifecycleConsumers.all
        )
    }
}
