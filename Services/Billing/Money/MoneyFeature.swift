package import Database
internal import Kernel
internal import Outbox
internal import Runtime
package import ServiceRuntime

/// Subscriptions, the ledger of coins and recovery tokens, the store (BI-1 … BI-5). One feature: a purchase is a posting, and premium is sold as
/// a purchase.
package enum MoneyFeature {
    package static let feature = ServiceFeature(
        "money",
        settings: MoneySettings.all,
        migrations: [
            MigrationSet(
                "billing",
                [
                    Migration(version: 1, name: "ledger", sql: PackageResources.V0001_ledger_sql),
                    Migration(version: 2, name: "subscriptions", sql: PackageResources.V0002_subscriptions_sql),
                    Migration(version: 3, name: "store", sql: PackageResources.V0003_store_sql),
                    Migration(version: 4, name: "confirmed", sql: PackageResources.V0004_confirmed_sql),
                    Migration(version: 5, name: "transfer", sql: PackageResources.V0005_transfer_sql),
                    Migration(version: 6, name: "premium", sql: PackageResources.V0006_premium_sql),
                    Migration(version: 7, name: "limits", sql: PackageResources.V0007_limits_sql),
                ]
            )
        ],
        personalData: [.ledger, .subscriptions, .purchases],
        assemble: { try MoneyParts($0).all }
    )

    /// Has stored events of RevenueCat applied again.
    ///
    /// - Parameter event: its id; nil for all.
    /// - Returns: how many.
    package static func replay(_ event: String?, _ database: Database) async throws -> Int {
        try await StoreEventRepository.replay(event, now: SystemClock.now(), database)
    }
}
