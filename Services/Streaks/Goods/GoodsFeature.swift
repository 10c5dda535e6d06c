internal import Kernel
package import ServiceRuntime
internal import StreaksAPI
package import StreaksCore

/// What billing sells for streaks (BI-5): whether it can be taken, taking it, giving it back. The stock itself is `Core`'s, because features of
/// streaks use it.
package enum GoodsFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature("goods") { environment in
            let core = try StreaksCore(environment, extensions)
            let (freezes, shields) = (BoughtFreezes(writer: core.writer), BoughtShields(writer: core.writer))
            return FeatureParts(
                endpoints: GoodsService.endpoints(
                    checkGoods: CheckGoods(
                        check: GoodsCheck(store: core.store, database: environment.database),
                        boughtShield: core.writer.boughtShield,
                        clock: environment.clock
                    ),
                    grantGoods: GrantGoods(
                        freezes: freezes,
                        shields: shields,
                        profiles: core.profiles,
                        mutations: environment.mutations
                    ),
                    takeBackGoods: TakeBackGoods(freezes: freezes, shields: shields, mutations: environment.mutations)
                )
            )
        }
    }
}
