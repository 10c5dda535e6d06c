package import Bus
package import Database
internal import Kernel
internal import Logging
package import Outbox
package import Replicas
internal import Runtime
package import ServiceRuntime
internal import StreaksDomain

/// What every feature of `streaks` stands on (D15): the streaks, their members and ledgers, settlement, outages, zones, and the replicas of
/// facts of other services. Loaded by every replica.
package enum CoreFeature {
    /// The feature.
    ///
    /// - Parameter extensions: what the other features add to the store.
    package static func feature(_ extensions: StreakExtensions) -> ServiceFeature {
        ServiceFeature(
            name,
            settings: [LinkSettings.publicURL, BoughtShield.setting],
            migrations: [
                MigrationSet("profile_replica", ProfileReplica.migrations),
                MigrationSet("entitlement_replica", EntitlementReplica.migrations),
                MigrationSet("block_replica", BlockReplica.migrations),
                MigrationSet(
                    "core",
                    [
                        Migration(version: 1, name: "streaks", sql: PackageResources.V0001_streaks_sql),
                        Migration(version: 2, name: "kinds", sql: PackageResources.V0002_kinds_sql),
                        Migration(version: 3, name: "outage_reason", sql: PackageResources.V0003_outage_reason_sql),
                        Migration(version: 4, name: "restored_accounts", sql: PackageResources.V0004_restored_accounts_sql),
                        Migration(version: 5, name: "late_zones", sql: PackageResources.V0005_late_zones_sql),
                        Migration(version: 6, name: "zone_rules", sql: PackageResources.V0006_zone_rules_sql),
                        Migration(version: 7, name: "ended_with", sql: PackageResources.V0007_ended_with_sql),
                    ]
                ),
                MigrationSet(
                    "habits",
                    [
                        Migration(version: 1, name: "habits", sql: PackageResources.V0001_habits_sql),
                        Migration(version: 2, name: "habit_photos", sql: PackageResources.V0002_habit_photos_sql),
                    ]
                ),
                MigrationSet("run_start", [Migration(version: 1, name: "run_start", sql: PackageResources.V0001_run_start_sql)]),
                MigrationSet("core_rewards", [Migration(version: 1, name: "rewards", sql: PackageResources.V0001_rewards_sql)]),
                MigrationSet("xp", [Migration(version: 1, name: "xp", sql: PackageResources.V0001_xp_sql)]),
                MigrationSet(
                    "goods",
                    [
                        Migration(version: 1, name: "goods", sql: PackageResources.V0001_goods_sql),
                        Migration(version: 2, name: "goods_in_use", sql: PackageResources.V0002_goods_in_use_sql),
                    ]
                ),
                MigrationSet(
                    "circle_replica",
                    [Migration(version: 1, name: "circle_replica", sql: PackageResources.V0001_circle_replica_sql)]
                ),
            ],
            personalData: [
                .core(extensions), .goods, ProfileReplica.personalData, EntitlementReplica.personalData(),
                BlockReplica.personalData, .rewards, .xp, .circles, .habits,
            ],
            isAlwaysLoaded: true
        ) { environment in
            let core = try StreaksCore(environment, extensions)
            let accounts = AccountConsumers(writer: core.writer)
            let facts = KnownFacts(feature: name, environment)
            let zones = ZoneRulesJob(writer: core.writer, work: environment.work, logger: environment.logger)
            try await zones.begin()
            return FeatureParts(
                consumers: [
                    core.profiles.handler(changed: accounts.profileChanged),
                    EntitlementReplica().handler(changed: accounts.entitlementsChanged), core.circles.handler,
                ] + core.blocks.handlers() + accounts.handlers,
                jobs: jobs(core, facts, environment, extensions) + [zones.job],
                preparation: { await facts.catchUp() }
            )
        }
    }

    private static let name = "core"

    private static func jobs(
        _ core: StreaksCore,
        _ facts: KnownFacts,
        _ environment: ServiceEnvironment,
        _ extensions: StreakExtensions
    ) -> [Job] {
        [
            SettlementJob(
                kinds: extensions.kinds(of: environment.features),
                writer: core.writer,
                work: environment.work,
                facts: facts,
                logger: environment.logger,
                metrics: environment.metrics
            ).job,
            OutageJob(writer: core.writer, work: environment.work, clock: environment.clock).job,
            core.blocks.snapshotJob,
            core.circles.snapshotJob,
        ]
    }
}

/// What the features of `streaks` share.
package struct StreaksCore: Sendable {
    package var store: StreakStore { writer.store }
    package let writer: StreakWriter
    package let profiles: ProfileReplica
    package let blocks: BlockReplica
    package let circles: CircleReplica
    package let avatars: AvatarLinks
    package let quotas: Quotas

    /// From the parts of a replica.
    ///
    /// - Throws: `Settings.Invalid`.
    package init(_ environment: ServiceEnvironment, _ extensions: StreakExtensions) throws {
        self.init(
            database: environment.database,
            bus: environment.bus,
            avatars: AvatarLinks(base: try environment.settings.get(LinkSettings.publicURL)),
            work: environment.work,
            boughtShield: try environment.settings.get(BoughtShield.setting),
            quotas: environment.quotas,
            extensions
        )
    }

    package init(
        database: Database,
        bus: any Caller,
        avatars: AvatarLinks,
        work: UnitOfWorkFactory? = nil,
        boughtShield: BoughtShield = .armed,
        quotas: Quotas = Quotas(),
        _ extensions: StreakExtensions
    ) {
        self.quotas = quotas
        writer = StreakWriter(database: database, extensions, boughtShield: boughtShield)
        profiles = ProfileReplica(database: database, bus: bus, avatars: avatars)
        blocks = BlockReplica(database: database, bus: bus)
        circles = CircleReplica(writer: writer, bus: bus, work: work, extensions)
        self.avatars = avatars
    }
}
