internal import Bus
internal import Database
internal import Kernel
internal import MediaAPI
internal import Outbox
internal import Replicas
internal import Runtime
public import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI

/// How `social` is put together.
public enum SocialModule: ServiceModule {
    public static let name = "social"
    public static let about = "friends, search, nudges, blocks, reports and moderation"
    private static let ownMigrations = [
        MigrationSet("profile_replica", ProfileReplica.migrations),
        MigrationSet(
            "social",
            [
                Migration(version: 1, name: "friendships", sql: PackageResources.V0001_friendships_sql),
                Migration(version: 2, name: "request_limits", sql: PackageResources.V0002_request_limits_sql),
                Migration(version: 3, name: "search", sql: PackageResources.V0003_search_sql),
                Migration(version: 4, name: "nudges_and_blocks", sql: PackageResources.V0004_nudges_and_blocks_sql),
                Migration(version: 5, name: "reports", sql: PackageResources.V0005_reports_sql),
                Migration(version: 6, name: "friend_order", sql: PackageResources.V0006_friend_order_sql),
                Migration(version: 7, name: "friend_list", sql: PackageResources.V0007_friend_list_sql),
                Migration(version: 8, name: "friend_list_and_names", sql: PackageResources.V0008_friend_list_and_names_sql),
            ]
        ),
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (SocialDescriptor.bytes, SocialDescriptor.hash) }

    static let keptFriendPages = Setting(
        "friends.kept-pages",
        default: 1_000,
        help: "Friend lists kept in memory while they do not change, some 30 kB each with 50 friends; 0: none."
    )

    private static let ownSettings: [any AnySetting] = [LinkSettings.publicURL, keptFriendPages]

    public static let features = [
        ServiceFeature(
            "friends",
            settings: ownSettings,
            migrations: ownMigrations,
            personalData: [.friends, ProfileReplica.personalData],
            assemble: assemble
        )
    ]

    @Sendable private static func assemble(_ environment: ServiceEnvironment) async throws -> FeatureParts {
        let service = service(
            database: environment.database,
            bus: environment.bus,
            mutations: environment.mutations,
            avatars: AvatarLinks(base: try environment.settings.get(LinkSettings.publicURL)),
            keptFriendPages: try environment.settings.get(keptFriendPages)
        )
        return FeatureParts(
            endpoints: service.endpoints(),
            consumers: [service.profiles.handler()] + LifecycleConsumers.all,
            jobs: [
                Job("old_sent_requests", every: .seconds(600)) { now in
                    try await service.friendships.forgetSent(before: now - .hours(1))
                },
                Job("profile_snapshot", every: .seconds(60)) { _ in
                    try await service.profiles.loadSnapshotOnce(context: .expiring(in: .minutes(10)))
                    return 0
                },
            ]
        )
    }

    /// The service on a database and whatever answers for the others.
    static func service(
        database: Database,
        bus: any Caller,
        mutations: Mutations,
        avatars: AvatarLinks = AvatarLinks(),
        keptFriendPages: Int = 1_000
    ) -> SocialService {
        SocialService(
            friendships: FriendshipRepository(database: database),
            friendLists: FriendLists(database: database, avatars: avatars, capacity: keptFriendPages),
            people: SearchRepository(database: database, avatars: avatars),
            blocks: BlockRepository(database: database),
            reports: ReportRepository(database: database),
            profiles: ProfileReplica(database: database, bus: bus, avatars: avatars, stored: SearchRepository.store),
            streaks: MutualClient(bus),
            media: MediaClient(bus),
            mutations: mutations
        )
    }
}
