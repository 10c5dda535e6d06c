internal import AuthAPI
internal import Bus
internal import Database
internal import Kernel
internal import MediaAPI
internal import Runtime
package import ServiceRuntime
internal import SocialAPI
package import SocialCore

/// Blocks, reports and moderation (SO-7 to SO-9).
package enum SafetyFeature {
    /// The feature.
    ///
    /// - Parameter followers: what all features add to a change of a profile.
    package static func feature(_ followers: [any ProfileFollower]) -> ServiceFeature {
        ServiceFeature(
            "safety",
            settings: [LinkSettings.publicURL],
            migrations: [
                MigrationSet(
                    "safety",
                    [
                        Migration(version: 1, name: "safety", sql: PackageResources.V0001_safety_sql),
                        Migration(version: 2, name: "posts", sql: PackageResources.V0002_posts_sql),
                        Migration(version: 3, name: "weights", sql: PackageResources.V0003_weights_sql),
                    ]
                )
            ],
            personalData: [.safety]
        ) { environment in
            let reports = ReportRepository(database: environment.database)
            let posts = PostReports(reports: reports)
            return FeatureParts(
                endpoints: endpoints(try SocialCore(environment, followers), reports, posts, environment),
                consumers: [ScreeningConsumer.handler(posts)]
            )
        }
    }

    private static func endpoints(
        _ core: SocialCore,
        _ reports: ReportRepository,
        _ posts: PostReports,
        _ environment: ServiceEnvironment
    ) -> [Endpoint] {
        let places = PlacesClient(environment.bus)
        let mutations = environment.mutations
        return SafetyService.endpoints(
            blockUser: BlockUser(
                friendships: core.friendships,
                blocks: core.blocks,
                profiles: core.profiles,
                quotas: environment.quotas,
                mutations: mutations
            ),
            listBlocks: ListBlocks(blocks: core.blocks, profiles: core.profiles),
            unblockUser: UnblockUser(blocks: core.blocks, mutations: mutations),
            report: Report(
                reports: reports,
                friendships: core.friendships,
                blocks: core.blocks,
                profiles: core.profiles,
                accounts: ProfilesClient(environment.bus),
                snaps: SnapsClient(environment.bus),
                places: places,
                posts: posts,
                quotas: environment.quotas,
                mutations: mutations
            ),
            listHiddenPosts: ListHiddenPosts(database: core.database),
            listReports: ListReports(
                reports: reports,
                profiles: core.profiles,
                places: places,
                snaps: SnapsClient(environment.bus),
                work: environment.work
            ),
            actionReport: ActionReport(reports: reports, profiles: core.profiles, posts: posts, mutations: mutations),
            listBlockSnapshots: ListBlockSnapshots(blocks: core.blocks)
        )
    }
}
