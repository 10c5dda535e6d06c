package import AuthDomain
internal import Database
internal import Outbox
internal import Replicas
internal import Runtime
package import ServiceRuntime

/// What every feature of `auth` stands on: accounts, and the facts of other services that the profile shows (D13). Loaded by every replica.
package enum CoreFeature {
    static let reservedNames = Setting(
        "auth.reserved-names",
        default: "",
        help:
            "Names of the apps, separated by commas: no display name may hold one, or what looks like it. StreakSnap is one always."
    )

    package static let feature = ServiceFeature(
        "core",
        settings: [LinkSettings.publicURL, reservedNames],
        migrations: [
            MigrationSet("entitlement_replica", EntitlementReplica.migrations),
            MigrationSet(
                "core",
                [
                    Migration(version: 1, name: "accounts", sql: PackageResources.V0001_accounts_sql),
                    Migration(version: 2, name: "rewards", sql: PackageResources.V0002_rewards_sql),
                    Migration(version: 3, name: "search", sql: PackageResources.V0003_search_sql),
                ]
            ),
        ],
        personalData: [.core, EntitlementReplica.personalData(exportedAs: "plan")],
        isAlwaysLoaded: true
    ) { _ in FeatureParts(consumers: FactConsumers.all) }
}

/// What the features of `auth` share.
package struct AuthCore: Sendable {
    package let accounts: AccountRepository
    package let lifecycle: LifecycleRepository
    package let writer: AccountWriter
    /// Display names that no user may have.
    package let names: ReservedNames

    /// From the parts of a replica.
    ///
    /// - Throws: `Settings.Invalid`.
    package init(_ environment: ServiceEnvironment) throws {
        accounts = AccountRepository(
            database: environment.database,
            avatars: AvatarLinks(base: try environment.settings.get(LinkSettings.publicURL))
        )
        lifecycle = LifecycleRepository(database: environment.database)
        writer = AccountWriter(accounts: accounts)
        names = ReservedNames(apps: try environment.settings.get(CoreFeature.reservedNames).settingEntries)
    }
}
