internal import Database
internal import Kernel
internal import NotificationsAPI
internal import NotificationsCore
internal import NotificationsLive
internal import Outbox
internal import Replicas
internal import Runtime
public import ServiceRuntime

/// How `notifications` is put together. The table of contents: one handler a file in `Handlers/`, named like its RPC.
public enum NotificationsModule: ServiceModule {
    public static let name = "notifications"
    public static let about = "the in-app notification log, fed by the events of the other services"
    private static let ownMigrations = [
        MigrationSet("profile_replica", ProfileReplica.migrations),
        MigrationSet("block_replica", BlockReplica.migrations),
        MigrationSet(
            "notifications",
            [Migration(version: 1, name: "notifications", sql: PackageResources.V0001_notifications_sql)]
        ),
        MigrationSet("notifications_lifecycle", [Migration(version: 1, name: "actors", sql: PackageResources.V0101_actors_sql)]),
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) {
        (NotificationsDescriptor.bytes, NotificationsDescriptor.hash)
    }

    private static let ownSettings: [any AnySetting] = [LinkSettings.publicURL]

    public static let features = [
        ServiceFeature(
            "log",
            settings: ownSettings,
            migrations: ownMigrations,
            personalData: [.log, ProfileReplica.personalData, BlockReplica.personalData],
            assemble: assemble
        ),
        LiveFeature.feature,
    ]

    @Sendable private static func assemble(_ environment: ServiceEnvironment) async throws -> FeatureParts {
        let log = NotificationRepository(database: environment.database)
        let profiles = ProfileReplica(
            database: environment.database,
            bus: environment.bus,
            avatars: AvatarLinks(base: try environment.settings.get(LinkSettings.publicURL))
        )
        let blocks = BlockReplica(database: environment.database, bus: environment.bus)
        let live = try await LiveEvents(environment)
        let entries = NotificationHandlers(log: log, profiles: profiles, blocks: blocks, live: live)
        return FeatureParts(
            endpoints: NotificationsService.endpoints(
                list: List(log: log, profiles: profiles),
                unreadCount: UnreadCount(log: log)
            ),
            consumers: [profiles.handler()] + blocks.handlers() + entries.friendshipHandlers + entries.streakHandlers
                + entries.socialHandlers + entries.reminderHandlers + entries.accountHandlers + LifecycleConsumers.all,
            jobs: [
                Job("old_notifications", every: .seconds(600)) { now in try await log.purge(before: now - .days(90)) },
                blocks.snapshotJob,
            ]
        )
    }
}
