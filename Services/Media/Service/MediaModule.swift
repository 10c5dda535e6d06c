internal import BlobStore
internal import Database
internal import Images
internal import Kernel
internal import MediaAPI
public import Runtime
internal import StreaksAPI

/// How `media` is put together.
public enum MediaModule: ServiceModule {
    public static let name = "media"
    public static let about = "daily snaps, their renditions, and the feed"
    public static let migrations = [
        MigrationSet("media", [Migration(version: 1, name: "snaps", sql: PackageResources.V0001_snaps_sql)])
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
        let operations = SnapOperations(
            snaps: snaps,
            streaks: streaks,
            work: environment.work,
            links: links,
            blobs: blobs,
            clock: environment.clock,
            logger: environment.logger
        )
        let service = MediaService(
            snaps: snaps,
            operations: operations,
            blobs: blobs,
            images: ImageProcessor(
                threads: try settings.get(threads),
                queueLimit: try settings.get(queue),
                logger: environment.logger
            ),
            streaks: streaks,
            links: links,
            clock: environment.clock,
            ids: environment.ids,
            logger: environment.logger
        )
        return ServiceAssembly(
            endpoints: service.endpoints(),
            jobs: [
                Job("unfinished_snaps", every: .seconds(1), oldestDue: { try await snaps.oldestStranded() }) { _ in
                    try await operations.sweep()
                },
                AbandonedUploads(blobs: blobs).job,
            ]
        )
    }
}
