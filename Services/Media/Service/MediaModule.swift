internal import BlobConfiguration
internal import Database
internal import MediaAPI
internal import Replicas
public import Runtime
public import ServiceRuntime

/// How `media` is put together.
public enum MediaModule: ServiceModule {
    public static let name = "media"
    public static let about = "daily snaps, their renditions, the feed, avatars, and milestone cards"
    private static let ownMigrations = [
        MigrationSet("block_replica", BlockReplica.migrations),
        MigrationSet("profile_replica", ProfileReplica.migrations),
        MigrationSet("snaps", [Migration(version: 1, name: "media", sql: PackageResources.V0001_media_sql)]),
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (MediaDescriptor.bytes, MediaDescriptor.hash) }

    public static var commands: [ProgramCommand] { [MediaCommands.checkBlobs] }

    static let threads = Setting("media.threads", default: 2, help: "Photos decoded at once.")
    static let queue = Setting(
        "media.queue",
        default: 32,
        help: "Photos that may wait to be decoded; more are answered UNAVAILABLE."
    )

    private static let ownSettings: [any AnySetting] = BlobSettings.all + [LinkSettings.publicURL, threads, queue]

    public static let features = [
        ServiceFeature(
            "snaps",
            settings: ownSettings,
            migrations: ownMigrations,
            personalData: [.snaps, .avatars, .cards, BlockReplica.personalData, ProfileReplica.personalData],
            assemble: assemble
        )
    ]

    @Sendable private static func assemble(_ environment: ServiceEnvironment) async throws -> FeatureParts {
        let parts = try await MediaParts(environment)
        return FeatureParts(endpoints: parts.endpoints, consumers: parts.consumers, jobs: parts.jobs)
    }
}
