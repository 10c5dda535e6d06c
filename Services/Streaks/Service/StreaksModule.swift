internal import BillingAPI
internal import Database
internal import Kernel
internal import MediaAPI
internal import Outbox
internal import Replicas
public import Runtime
internal import SocialAPI
internal import StreaksAPI

/// How `streaks` is put together.
public enum StreaksModule: ServiceModule {
    public static let name = "streaks"
    public static let about = "streaks, their day ledgers and the daily prompt"
    public static let migrations = [
        MigrationSet("profile_replica", ProfileReplica.migrations),
        MigrationSet("entitlement_replica", EntitlementReplica.migrations),
        MigrationSet(
            "streaks",
            [
                Migration(version: 1, name: "streaks", sql: PackageResources.V0001_streaks_sql),
                Migration(version: 2, name: "newest_dates", sql: PackageResources.V0002_newest_dates_sql),
                Migration(version: 3, name: "checkpoint", sql: PackageResources.V0003_checkpoint_sql),
            ]
        ),
        MigrationSet("streaks_lifecycle", [Migration(version: 1, name: "lifecycle", sql: PackageResources.V0101_lifecycle_sql)]),
        MigrationSet(
            "streaks_recovery",
            [
                Migration(version: 1, name: "recovery", sql: PackageResources.V0201_recovery_sql),
                Migration(version: 2, name: "friendships", sql: PackageResources.V0202_friendships_sql),
                Migration(version: 3, name: "outages", sql: PackageResources.V0203_outages_sql),
            ]
        ),
        MigrationSet(
            "streaks_achievements",
            [Migration(version: 1, name: "achievements", sql: PackageResources.V0301_achievements_sql)]
        ),
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (StreaksMethods.descriptorSet, StreaksMethods.descriptorHash) }

    public static func assemble(_ environment: ServiceEnvironment) async throws -> ServiceAssembly {
        let streaks = StreakRepository(database: environment.database)
        let keeper = StreakKeeper(streaks: streaks)
        let profiles = ProfileReplica(database: environment.database, bus: environment.bus)
        let entitlements = EntitlementReplica()
        let recoveries = Recoveries(
            repository: RecoveryOperationRepository(database: environment.database),
            keeper: keeper,
            billing: BillingClient(environment.bus),
            work: environment.work,
            logger: environment.logger
        )
        let service = StreaksService(
            streaks: streaks,
            keeper: keeper,
            recoveries: recoveries,
            social: SocialClient(environment.bus),
            profiles: profiles,
            entitlements: entitlements,
            media: MediaClient(environment.bus),
            work: environment.work,
            mutations: environment.mutations,
            clock: environment.clock
        )
        let people = PeopleConsumer(keeper: keeper)
        return ServiceAssembly(
            endpoints: service.endpoints(),
            consumers: [profiles.handler(changed: people.profileChanged), entitlements.handler()]
                + service.friendshipHandlers + LifecycleConsumers(keeper: keeper).handlers,
            jobs: [
                SettlementJob(keeper: keeper, work: environment.work).job,
                OutageJob(keeper: keeper, work: environment.work, clock: environment.clock).job,
                Job("unfinished_recoveries", every: .seconds(1), oldestDue: { try await recoveries.repository.oldestStranded() })
                { _ in
                    try await recoveries.sweep()
                },
                Job("old_operations", every: .seconds(600)) { now in
                    let contributions = try await OperationRepository.purge(before: now - .days(7), environment.database)
                    let ended = try await recoveries.repository.forget(before: now - .days(7))
                    let friendships = try await StartRepository.forgetEnds(before: now - .days(1), environment.database)
                    return contributions + ended + friendships
                },
            ]
        )
    }
}
