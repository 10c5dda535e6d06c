internal import BillingAPI
internal import Database
internal import Kernel
internal import Outbox
internal import Runtime
public import ServiceRuntime

/// How `billing` is put together. The table of contents: one handler a file in `Handlers/`, named like its RPC.
public enum BillingModule: ServiceModule {
    public static let name = "billing"
    public static let about = "subscriptions, the ledger of coins and recovery tokens, the store"
    private static let ownMigrations = [
        MigrationSet(
            "billing",
            [
                Migration(version: 1, name: "ledger", sql: PackageResources.V0001_ledger_sql),
                Migration(version: 2, name: "subscriptions", sql: PackageResources.V0002_subscriptions_sql),
                Migration(version: 3, name: "store", sql: PackageResources.V0003_store_sql),
            ]
        )
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (BillingDescriptor.bytes, BillingDescriptor.hash) }

    public static let features = [
        ServiceFeature(
            "money",
            settings: BillingSettings.all,
            migrations: ownMigrations,
            personalData: [.ledger, .subscriptions, .purchases],
            assemble: { try BillingParts($0).all }
        )
    ]

    /// Has events of RevenueCat applied again, by the running replicas.
    public static var replay: EventReplay? {
        { id, database in try await StoreEventRepository.replay(id, now: SystemClock.now(), database) }
    }
}
