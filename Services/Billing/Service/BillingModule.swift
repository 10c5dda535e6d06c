internal import BillingAPI
internal import Database
internal import Kernel
internal import Outbox
internal import Runtime
public import ServiceRuntime

/// How `billing` is put together. The table of contents: one handler a file in `Handlers/`, named like its RPC.
public enum BillingModule: ServiceModule {
    public static let name = "billing"
    public static let about = "entitlements and the ledgers of recovery tokens"
    private static let ownMigrations = [
        MigrationSet("billing", [Migration(version: 1, name: "ledgers", sql: PackageResources.V0001_ledgers_sql)])
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (BillingDescriptor.bytes, BillingDescriptor.hash) }

    public static let features = [
        ServiceFeature("tokens", migrations: ownMigrations, personalData: [.tokens], assemble: assemble)
    ]

    @Sendable private static func assemble(_ environment: ServiceEnvironment) async throws -> FeatureParts {
        let database = environment.database
        let tokens = TokenRepository(database: database)
        return FeatureParts(
            endpoints: BillingService.endpoints(
                getEntitlements: GetEntitlements(
                    subscriptions: SubscriptionRepository(database: database),
                    clock: environment.clock
                ),
                getRecoveryBalance: GetRecoveryBalance(tokens: tokens),
                spendToken: SpendToken(tokens: tokens, mutations: environment.mutations),
                refundToken: RefundToken(tokens: tokens, mutations: environment.mutations)
            ),
            consumers: [TokenEarnedConsumer.handler(tokens), TokenReturnedConsumer.handler(tokens)]
        )
    }
}
