internal import Bus
internal import Database
internal import Images
internal import MediaAPI
internal import MediaCore
internal import Runtime
package import ServiceRuntime
internal import SocialAPI
internal import StreaksAPI

/// Milestone cards and their public pages (MC-1, MC-2).
package enum CardsFeature {
    package static let feature = ServiceFeature(
        "cards",
        settings: [CoreFeature.queue],
        migrations: [
            MigrationSet(
                "cards",
                [
                    Migration(version: 1, name: "cards", sql: PackageResources.V0001_cards_sql),
                    Migration(version: 2, name: "kinds", sql: PackageResources.V0002_kinds_sql),
                ]
            )
        ],
        personalData: [.cards]
    ) { environment in
        let core = try await MediaCore.shared(by: environment)
        let cards = MilestoneCards(
            repository: CardRepository(database: environment.database),
            painter: PosterPainter(
                queueLimit: try environment.settings.get(CoreFeature.queue),
                logger: environment.logger
            ),
            avatars: CardAvatars(blobs: core.blobs, logger: environment.logger),
            blobs: core.blobs,
            clock: environment.clock,
            logger: environment.logger
        )
        return FeatureParts(
            endpoints: endpoints(core, cards, environment),
            consumers: PageConsumers.all,
            jobs: [RemovedCards(cards: cards.repository, blobs: core.blobs).job]
        )
    }

    private static func endpoints(_ core: MediaCore, _ cards: MilestoneCards, _ environment: ServiceEnvironment) -> [Endpoint] {
        let mutations = environment.mutations
        let shared = SharedCards(
            cards: cards,
            profiles: core.profiles,
            friends: FriendsClient(environment.bus),
            circles: CirclesClient(environment.bus),
            links: core.links,
            clock: environment.clock
        )
        return CardsService.endpoints(
            generateMilestoneCard: GenerateMilestoneCard(
                cards: shared,
                blocks: core.blocks,
                streaks: ProgressClient(environment.bus),
                mutations: mutations
            ),
            markMilestoneShared: MarkMilestoneShared(cards: shared, mutations: mutations),
            revokeMilestoneShare: RevokeMilestoneShare(mutations: mutations),
            getSharePage: GetSharePage(cards: cards, profiles: core.profiles, blocks: core.blocks, links: core.links),
            makeMilestoneCard: MakeMilestoneCard(cards: shared, blocks: core.blocks, mutations: mutations)
        )
    }
}
