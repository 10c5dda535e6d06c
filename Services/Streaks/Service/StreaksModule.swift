internal import BillingAPI
internal import Bus
internal import Database
internal import Kernel
internal import Logging
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
        MigrationSet("block_replica", BlockReplica.migrations),
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
        MigrationSet(
            "streaks_moments",
            [
                Migration(version: 1, name: "moments", sql: PackageResources.V0401_moments_sql),
                Migration(version: 2, name: "prompts", sql: PackageResources.V0402_prompts_sql),
            ]
        ),
        MigrationSet(
            "streaks_settlement",
            [
                Migration(version: 1, name: "totals", sql: PackageResources.V0701_totals_sql),
                Migration(version: 2, name: "members", sql: PackageResources.V0702_members_sql),
            ]
        ),
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (StreaksDescriptor.bytes, StreaksDescriptor.hash) }

    static let snapWindow = Setting(
        "streaks.snap-window",
        default: SnapWindowRule.label,
        help: "What becomes of a snap outside its author's snap window: label counts it and calls it late, enforce refuses it."
    )

    public static let settings: [any AnySetting] = [snapWindow, LinkSettings.publicURL]

    public static func assemble(_ environment: ServiceEnvironment) async throws -> ServiceAssembly {
        let service = service(
            database: environment.database,
            bus: environment.bus,
            mutations: environment.mutations,
            snapWindow: try environment.settings.get(snapWindow),
            avatars: AvatarLinks(base: try environment.settings.get(LinkSettings.publicURL)),
            clock: environment.clock,
            logger: environment.logger
        )
        return ServiceAssembly(endpoints: service.endpoints(), consumers: consumers(service), jobs: jobs(service, environment))
    }

    private static func jobs(_ service: StreaksService, _ environment: ServiceEnvironment) -> [Job] {
        let (recoveries, database) = (service.recoveries, service.streaks.database)
        return [
            SettlementJob(
                keeper: service.keeper,
                work: service.work,
                logger: environment.logger,
                metrics: environment.metrics
            ).job,
            OutageJob(keeper: service.keeper, work: service.work, clock: service.clock).job,
            Job("unfinished_recoveries", every: .seconds(1), oldestDue: { try await recoveries.repository.oldestStranded() }) {
                _ in
                try await recoveries.sweep()
            },
            MomentJob(work: service.work, streaks: service.streaks).job,
            Job("block_snapshot", every: .seconds(60)) { _ in
                try await service.blocks.loadSnapshotOnce(context: .expiring(in: .minutes(10)))
                return 0
            },
            Job("old_operations", every: .seconds(600)) { now in
                let contributions = try await OperationRepository.purge(before: now - .days(7), database)
                let ended = try await recoveries.repository.forget(before: now - .days(7))
                let friendships = try await StartRepository.forgetEnds(before: now - .days(1), database)
                return contributions + ended + friendships
            },
        ]
    }

    static func service(
        database: Database,
        bus: any Caller,
        mutations: Mutations,
        snapWindow: SnapWindowRule,
        avatars: AvatarLinks,
        clock: any Clock,
        logger: Logger
    ) -> StreaksService {
        let streaks = StreakRepository(database: database, avatars: avatars)
        let keeper = StreakKeeper(streaks: streaks)
        return StreaksService(
            streaks: streaks,
            keeper: keeper,
            recoveries: Recoveries(
                repository: RecoveryOperationRepository(database: database),
                keeper: keeper,
                billing: BillingClient(bus),
                work: mutations.work,
                logger: logger
            ),
            social: SocialClient(bus),
            profiles: ProfileReplica(database: database, bus: bus, avatars: avatars),
            blocks: BlockReplica(database: database, bus: bus),
            entitlements: EntitlementReplica(),
            media: MediaClient(bus),
            work: mutations.work,
            mutations: mutations,
            snapWindow: snapWindow,
            clock: clock
        )
    }

    static func consumers(_ service: StreaksService) -> [EventHandler] {
        let people = PeopleConsumer(keeper: service.keeper)
        return [service.profiles.handler(changed: people.profileChanged), service.entitlements.handler()]
            + service.blocks.handlers() + service.friendshipHandlers + LifecycleConsumers(keeper: service.keeper).handlers
    }
}

/// What becomes of a snap that was not captured inside its author's window, give or take 30 min (PW-3).
enum SnapWindowRule: String, SettingValue, CustomStringConvertible {
    /// It counts and is called late.
    case label
    /// It is refused with OUTSIDE_SNAP_WINDOW.
    case enforce

    init?(settingText text: String) { self.init(rawValue: text) }
    static var settingTypeName: String { "label or enforce" }
    var description: String { rawValue }
}
