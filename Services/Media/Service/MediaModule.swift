internal import BlobConfiguration
internal import BlobStore
internal import Bus
internal import Database
internal import Images
internal import Kernel
internal import MediaAPI
internal import Outbox
internal import Replicas
public import Runtime
internal import StreaksAPI

/// How `media` is put together.
public enum MediaModule: ServiceModule {
    public static let name = "media"
    public static let about = "daily snaps, their renditions, and the feed"
    public static let migrations = [
        MigrationSet("block_replica", BlockReplica.migrations),
        MigrationSet("profile_replica", ProfileReplica.migrations),
        MigrationSet(
            "media",
            [
                Migration(version: 1, name: "snaps", sql: PackageResources.V0001_snaps_sql),
                Migration(version: 2, name: "one_operation", sql: PackageResources.V0002_one_operation_sql),
            ]
        ),
        MigrationSet("media_lifecycle", [Migration(version: 1, name: "owners", sql: PackageResources.V0101_owners_sql)]),
    ]
    public static var descriptor: (bytes: [UInt8], hash: String) { (MediaMethods.descriptorSet, MediaMethods.descriptorHash) }

    static let threads = Setting("media.threads", default: 2, help: "Photos decoded at once.")
    static let queue = Setting(
        "media.queue",
        default: 32,
        help: "Photos that may wait to be decoded; more are answered UNAVAILABLE."
    )

    public static let settings: [any AnySetting] = BlobSettings.all + [BlobSettings.publicURL, threads, queue]

    public static func assemble(_ environment: ServiceEnvironment) async throws -> ServiceAssembly {
        let settings = environment.settings
        let snaps = SnapRepository(database: environment.database)
        let blobs = try await BlobSettings.store(settings, logger: environment.logger)
        let links = try MediaLinks(
            secret: try settings.get(BlobSettings.signingKey),
            base: try settings.get(BlobSettings.publicURL)
        )
        let streaks = StreaksClient(environment.bus)
        let profiles = ProfileReplica(database: environment.database, bus: environment.bus)
        let operations = SnapOperations(
            repository: SnapOperationRepository(database: environment.database),
            snaps: snaps,
            streaks: streaks,
            work: environment.work,
            links: links,
            blobs: blobs,
            images: ImageProcessor(
                threads: try settings.get(threads),
                queueLimit: try settings.get(queue),
                logger: environment.logger
            ),
            clock: environment.clock,
            logger: environment.logger
        )
        let blocks = BlockReplica(database: environment.database, bus: environment.bus)
        let service = MediaService(
            snaps: snaps,
            blocks: blocks,
            operations: operations,
            blobs: blobs,
            profiles: profiles,
            streaks: streaks,
            links: links,
            clock: environment.clock,
            ids: environment.ids,
            logger: environment.logger
        )
        return ServiceAssembly(
            endpoints: service.endpoints(),
            consumers: blocks.handlers() + [profiles.handler()] + LifecycleConsumers.all,
            jobs: [
                Job("block_snapshot", every: .seconds(60)) { _ in
                    try await blocks.loadSnapshotOnce(context: .expiring(in: .minutes(10)))
                    return 0
                },
                Job("unfinished_snaps", every: .seconds(1), oldestDue: { try await operations.repository.oldestStranded() }) {
                    _ in
                    try await operations.sweep()
                },
                OldOperations(operations: operations).job,
                AbandonedUploads(blobs: blobs).job,
                PhotoOwners(owners: OwnerRepository(database: environment.database), blobs: blobs).job,
            ]
        )
    }
}
