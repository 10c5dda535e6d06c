internal import Database
internal import Kernel
package import ServiceRuntime
internal import StreaksAPI

/// What users have bought for their streaks and not used yet (BI-5): freezes, repairs, shields, … Billing sells them, features of streaks use them.
package enum GoodsFeature {
    /// The feature.
    package static func feature() -> ServiceFeature {
        ServiceFeature(
            "goods",
            migrations: [MigrationSet("goods", [Migration(version: 1, name: "goods", sql: PackageResources.V0001_goods_sql)])],
            personalData: [.goods]
        ) { environment in
            FeatureParts(
                endpoints: GoodsService.endpoints(
                    grantGoods: GrantGoods(mutations: environment.mutations),
                    takeBackGoods: TakeBackGoods(mutations: environment.mutations)
                )
            )
        }
    }
}
