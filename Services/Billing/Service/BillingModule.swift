internal import BillingAPI
internal import BillingMoney
internal import Database
public import ServiceRuntime

/// What `billing` consists of.
public enum BillingModule: ServiceModule {
    public static let name = "billing"
    public static let about = "subscriptions, the ledger of coins and recovery tokens, the store"
    public static var descriptor: (bytes: [UInt8], hash: String) { (BillingDescriptor.bytes, BillingDescriptor.hash) }
    public static let features = [MoneyFeature.feature]

    /// Has events of RevenueCat applied again, by the running replicas.
    public static var replay: EventReplay? { { event, database in try await MoneyFeature.replay(event, database) } }
}
