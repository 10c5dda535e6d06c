internal import Database
internal import Kernel
internal import Outbox
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// Goods that users hold, and what becomes of those they use (TS-3).
package enum PowerUpsFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            "powerups",
            migrations: [
                MigrationSet("power_ups", [Migration(version: 1, name: "power_ups", sql: PackageResources.V0001_power_ups_sql)])
            ],
            personalData: [.powerUps]
        ) { environment in
            let core = try StreaksCore(environment, extensions)
            let uses = PowerUpUses(writer: core.writer)
            return FeatureParts(
                endpoints: PowerUpsService.endpoints(
                    listPowerUps: ListPowerUps(database: environment.database, boughtShield: core.writer.boughtShield),
                    usePowerUp: UsePowerUp(uses: uses, profiles: core.profiles, mutations: environment.mutations),
                    buyBooster: BuyBooster(mutations: environment.mutations)
                ),
                jobs: [EndedPowerUps(uses: uses, work: environment.work, database: environment.database).job]
            )
        }
    }
}
