internal import BillingAPI
internal import Database
internal import Kernel
internal import MediaAPI
internal import Outbox
internal import Runtime
package import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI
package import StreaksCore
internal import StreaksDomain

/// Streaks of two friends: a photo each, every date (MS-*, RC-*).
package enum MutualFeature {
    static let snapWindow = Setting(
        "streaks.snap-window",
        default: SnapWindowRule.label,
        help: "What becomes of a snap outside its author's snap window: label counts it and calls it late, enforce refuses it."
    )

    /// The feature.
    ///
    /// - Parameter extensions: what all features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            "mutual",
            settings: [snapWindow, LinkSettings.publicURL],
            migrations: [
                MigrationSet(
                    "mutual",
                    [
                        Migration(version: 1, name: "mutual", sql: PackageResources.V0001_mutual_sql),
                        Migration(version: 2, name: "closed", sql: PackageResources.V0002_closed_sql),
                    ]
                )
            ],
            personalData: [.mutual]
        ) { environment in
            MutualParts(
                try StreaksCore(environment, extensions),
                environment,
                snapWindow: try environment.settings.get(snapWindow)
            ).all
        }
    }
}
