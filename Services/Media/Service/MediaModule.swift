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
public import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI

/// How `media` is put together.
public enum MediaModule: ServiceModule {
    public static let name = "media"
    public static let about = "daily snaps, their renditions, the feed, avatars, and milestone cards"
    private static let ownMigrations = [
        MigrationSet("block_replica", BlockReplica.migrations),
        MigrationSet("profile_replica", ProfileReplica.migrations),
        MigrationSet(
            "media",
            [
                Migration(version: 1, name: "snaps", sql: PackageResources.V0001_snaps_sql),
                Migration(version: 2, name: "one_operation", sql: PackageResources.V0002_one_operation_sql),
            ]
        ),
        MigrationSet(
            "media_cards",
            [Migration(version: 1, name: "milestone_cards", sql: PackageResources.V0301_milestone_cards_sql)]
        ),
        MigrationSet("media_lifecycle", [Migration(version: 1, name: "owners", sql: PackageResources.V0101_owners_sql)]),
        MigrationSet(
            "media_hidden",
            [
                Migration(version: 1, name: "hidden_pairs", sql: PackageResources.V0402_hidden_pairs_sql),
                Migration(version: 2, name: "dead_links", sql: PackageResources.V0403_dead_links_sql),
            ]
        ),
        MigrationSet("media_avatars", [Migration(version: 1, name: "avatars", sql: PackageResources.V0401_avatars_sql)]),
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
        let settings = environment.settings
        let snaps = SnapRepository(database: environment.database)
        let blobs = try await BlobSettings.store(settings, logger: environment.logger)
        let links = try MediaLinks(settings)
        let streaks = MutualClient(environment.bus)
        let profiles = ProfileReplica(database: environment.database, bus: environment.bus)
        let images = ImageProcessor(
            threads: try settings.get(threads),
            queueLimit: try settings.get(queue),
            logger: environment.logger
        )
        let operations = SnapOperations(
            repository: SnapOperationRepository(database: environment.database),
            snaps: snaps,
            streaks: streaks,
            work: environment.work,
            links: links,
            blobs: blobs,
            images: images,
            clock: environment.clock,
            logger: environment.logger
        )
        let blocks = BlockReplica(database: environment.database, bus: environment.bus, stored: HiddenPairRepository.note)
        let avatars = Avatars(
            repository: AvatarRepository(database: environment.database),
            mutations: environment.mutations,
            blobs: blobs,
            images: images,
            links: links,
            ids: environment.ids,
            logger: environment.logger
        )
        let cards = MilestoneCards(
            repository: CardRepository(database: environment.database),
            painter: PosterPainter(queueLimit: try settings.get(queue), logger: environment.logger),
            avatars: CardAvatars(blobs: blobs, logger: environment.logger),
            blobs: blobs,
            clock: environment.clock,
            logger: environment.logger
        )
        let service = MediaService(
            snaps: snaps,
            blocks: blocks,
            operations: operations,
            avatars: avatars,
            cards: cards,
            blobs: blobs,
            profiles: profiles,
            streaks: streaks,
            social: SocialClient(environment.bus),
            links: links,
            mutations: environment.mutations,
            clock: environment.clock,
            ids: environment.ids,
            logger: environment.logger
        )
        return FeatureParts(
            endpoints: service.endpoints(),
            consumers: blocks.handlers() + [profiles.handler()] + LifecycleConsumers.all,
            jobs: jobs(service, environment.database)
        )
    }

    private static func jobs(_ service: MediaService, _ database: Database) -> [Job] {
        let (operations, blocks, blobs) = (service.operations, service.blocks, service.blobs)
        return [
            Job("block_snapshot", every: .seconds(60)) { _ in
                try await blocks.loadSnapshotOnce(context: .expiring(in: .minutes(10)))
                return 0
            },
            Job("unfinished_snaps", every: .seconds(1), oldestDue: { try await operations.repository.oldestStranded() }) { _ in
                try await operations.sweep()
            },
            OldOperations(operations: operations).job,
            AbandonedUploads(blobs: blobs).job,
            HiddenPairs(pairs: HiddenPairRepository(database: database), blobs: blobs, clock: service.clock).job,
            OldAvatars(repository: service.avatars.repository, blobs: blobs).job,
            RemovedCards(cards: service.cards.repository, blobs: blobs).job,
            PhotoOwners(owners: OwnerRepository(database: database), blobs: blobs).job,
        ]
    }
}
