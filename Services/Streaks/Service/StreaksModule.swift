internal import Database
internal import Kernel
internal import Outbox
internal import Replicas
public import Runtime
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
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (StreaksMethods.descriptorSet, StreaksMethods.descriptorHash) }

    public static let settings: [any AnySetting] = [BlobSettings.publicURL]

    public static func assemble(_ environment: ServiceEnvironment) async throws -> ServiceAssembly {
        let avatars = AvatarLinks(base: try environment.settings.get(BlobSettings.publicURL))
        let streaks = StreakRepository(database: environment.database, avatars: avatars)
        let keeper = StreakKeeper(streaks: streaks)
        let profiles = ProfileReplica(database: environment.database, bus: environment.bus, avatars: avatars)
        let entitlements = EntitlementReplica()
        let service = StreaksService(
            streaks: streaks,
            keeper: keeper,
            profiles: profiles,
            entitlements: entitlements,
            work: environment.work,
            clock: environment.clock
        )
        let people = PeopleConsumer(keeper: keeper)
        return ServiceAssembly(
            endpoints: service.endpoints(),
            consumers: [profiles.handler(changed: people.profileChanged), entitlements.handler()]
                + service.friendshipHandlers + LifecycleConsumers(keeper: keeper).handlers,
            jobs: [
                SettlementJob(keeper: keeper, work: environment.work).job,
                Job("old_operations", every: .seconds(600)) { now in
                    try await OperationRepository.purge(before: now - .days(7), environment.database)
                },
            ]
        )
    }
}
