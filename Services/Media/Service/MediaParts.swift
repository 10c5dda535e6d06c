internal import BlobConfiguration
internal import BlobStore
internal import Bus
internal import Images
internal import Kernel
internal import MediaAPI
internal import Outbox
internal import Replicas
internal import Runtime
internal import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI

/// How the service is put together: one pool of decoders, one blob store and one cache of links for all its RPCs.
struct MediaParts {
    private let environment: ServiceEnvironment
    private let blobs: any BlobStore
    private let links: MediaLinks
    private let profiles: ProfileReplica
    private let blocks: BlockReplica
    private let snaps: SnapRepository
    private let operations: SnapOperations
    private let avatars: Avatars
    private let cards: MilestoneCards
    private let streaks: MutualClient

    init(_ environment: ServiceEnvironment) async throws {
        let (settings, database, logger) = (environment.settings, environment.database, environment.logger)
        self.environment = environment
        blobs = try await BlobSettings.store(settings, logger: logger)
        links = try MediaLinks(settings)
        profiles = ProfileReplica(database: database, bus: environment.bus)
        blocks = BlockReplica(database: database, bus: environment.bus, stored: HiddenPairRepository.note)
        streaks = MutualClient(environment.bus)
        snaps = SnapRepository(database: database)
        let queue = try settings.get(MediaModule.queue)
        let images = ImageProcessor(threads: try settings.get(MediaModule.threads), queueLimit: queue, logger: logger)
        operations = SnapOperations(
            repository: SnapOperationRepository(database: database),
            snaps: snaps,
            streaks: streaks,
            work: environment.work,
            links: links,
            blobs: blobs,
            images: images,
            clock: environment.clock,
            logger: logger
        )
        avatars = Avatars(
            repository: AvatarRepository(database: database),
            mutations: environment.mutations,
            blobs: blobs,
            images: images,
            links: links,
            ids: environment.ids,
            logger: logger
        )
        cards = MilestoneCards(
            repository: CardRepository(database: database),
            painter: PosterPainter(queueLimit: queue, logger: logger),
            avatars: CardAvatars(blobs: blobs, logger: logger),
            blobs: blobs,
            clock: environment.clock,
            logger: logger
        )
    }

    var endpoints: [Endpoint] { snapEndpoints + avatarEndpoints + cardEndpoints }

    private var terms: Terms { Terms(profiles: profiles) }
    private var uploads: IncomingUploads { IncomingUploads(blobs: blobs, logger: environment.logger) }

    private var snapEndpoints: [Endpoint] {
        let views = SnapViews(links: links, clock: environment.clock)
        return SnapsService.endpoints(
            uploadSnap: UploadSnap(
                operations: operations,
                streaks: streaks,
                terms: terms,
                uploads: uploads,
                mutations: environment.mutations,
                clock: environment.clock,
                ids: environment.ids
            ),
            getFeed: GetFeed(snaps: snaps, views: views, streaks: streaks),
            getStreakSnaps: GetStreakSnaps(snaps: snaps, views: views),
            getSnapHistory: GetSnapHistory(snaps: snaps, views: views, streaks: streaks),
            findSnapOwner: FindSnapOwner(snaps: snaps)
        )
    }

    private var avatarEndpoints: [Endpoint] {
        AvatarsService.endpoints(
            uploadAvatar: UploadAvatar(avatars: avatars, terms: terms, uploads: uploads),
            removeAvatar: RemoveAvatar(avatars: avatars)
        )
    }

    private var cardEndpoints: [Endpoint] {
        let mutations = environment.mutations
        let shared = SharedCards(
            cards: cards,
            profiles: profiles,
            friends: FriendsClient(environment.bus),
            links: links,
            clock: environment.clock
        )
        return CardsService.endpoints(
            generateMilestoneCard: GenerateMilestoneCard(cards: shared, blocks: blocks, streaks: streaks, mutations: mutations),
            markMilestoneShared: MarkMilestoneShared(cards: shared, mutations: mutations),
            revokeMilestoneShare: RevokeMilestoneShare(mutations: mutations),
            getSharePage: GetSharePage(cards: cards, profiles: profiles, blocks: blocks, links: links),
            makeMilestoneCard: MakeMilestoneCard(cards: shared, blocks: blocks, mutations: mutations)
        )
    }

    var consumers: [EventHandler] { blocks.handlers() + [profiles.handler()] + LifecycleConsumers.all }

    var jobs: [Job] {
        let (operations, blocks, database) = (operations, blocks, environment.database)
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
            HiddenPairs(pairs: HiddenPairRepository(database: database), blobs: blobs, clock: environment.clock).job,
            OldAvatars(repository: avatars.repository, blobs: blobs).job,
            RemovedCards(cards: cards.repository, blobs: blobs).job,
            PhotoOwners(owners: OwnerRepository(database: database), blobs: blobs).job,
        ]
    }
}
