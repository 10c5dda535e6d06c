internal import Bus
internal import Database
internal import MediaAPI
internal import MediaCore
internal import Runtime
package import ServiceRuntime

/// Photos pinned to places, votes on them, and saved cities (PL-1 to PL-3, PL-7).
package enum PlacesFeature {
    package static let feature = ServiceFeature(
        "places",
        settings: ScreeningSettings.all,
        migrations: [
            MigrationSet(
                "places",
                [
                    Migration(version: 1, name: "posts", sql: PackageResources.V0001_posts_sql),
                    Migration(version: 2, name: "cities", sql: PackageResources.V0002_cities_sql),
                    Migration(version: 3, name: "videos and uploads", sql: PackageResources.V0003_videos_and_uploads_sql),
                    Migration(version: 4, name: "map", sql: PackageResources.V0004_map_sql),
                    Migration(version: 5, name: "moderation", sql: PackageResources.V0005_moderation_sql),
                    Migration(version: 6, name: "near cells", sql: PackageResources.V0006_near_cells_sql),
                    Migration(version: 7, name: "area changes", sql: PackageResources.V0007_area_changes_sql),
                    Migration(version: 8, name: "votes", sql: PackageResources.V0008_votes_sql),
                    Migration(version: 9, name: "file bytes", sql: PackageResources.V0009_file_bytes_sql),
                ]
            )
        ],
        personalData: [.places]
    ) { environment in
        let core = try await MediaCore.shared(by: environment)
        let database = environment.database
        let posts = PostRepository(database: database)
        return FeatureParts(
            endpoints: endpoints(core, posts, try PostScreening(environment), environment),
            consumers: ModerationConsumers.all,
            jobs: [
                RemovedPosts(posts: posts, blobs: core.blobs).job, RemovedPostIDs(posts: posts).job,
                CountedVotes(votes: VoteRepository(database: database)).job, PastScores(posts: posts).job,
                CountedTiles(clusters: ClusterRepository(database: database)).job,
                EndedConnections(clusters: ClusterRepository(database: database)).job, NamedPosts(posts: posts).job,
                UnusedUploads(uploads: UploadRepository(database: database), blobs: core.blobs).job,
                StrayUploads(blobs: core.blobs).job,
            ]
        )
    }

    private static func endpoints(
        _ core: MediaCore,
        _ posts: PostRepository,
        _ screening: PostScreening,
        _ environment: ServiceEnvironment
    ) -> [Endpoint] {
        let (database, mutations) = (environment.database, environment.mutations)
        let views = PostViews(links: core.links, profiles: core.profiles, clock: environment.clock)
        let votes = Votes(mutations: mutations, quotas: environment.quotas, database: database)
        let cities = SavedCities(repository: CityRepository(database: database), mutations: mutations)
        let lists = PostListRepository(database: database)
        let uploads = presignedUploads(core, environment)
        let newPosts = NewPosts(
            posts: posts,
            views: views,
            mutations: mutations,
            blobs: core.blobs,
            renditions: PostRenditions(blobs: core.blobs, images: core.images, videos: core.videos),
            uploads: uploads,
            screening: screening,
            quotas: environment.quotas,
            clock: environment.clock,
            ids: environment.ids,
            logger: environment.logger
        )
        return PlacesService.endpoints(
            createPost: CreatePost(posts: newPosts, terms: core.terms, uploads: core.uploads),
            listPosts: ListPosts(lists: lists, views: views),
            getPost: GetPost(posts: posts, views: views),
            deletePost: DeletePost(mutations: mutations),
            votePost: VotePost(votes: votes),
            removePostVote: RemovePostVote(votes: votes),
            listSavedCities: ListSavedCities(cities: cities),
            saveCity: SaveCity(cities: cities),
            removeCity: RemoveCity(cities: cities),
            setFavoriteCity: SetFavoriteCity(cities: cities),
            clearFavoriteCity: ClearFavoriteCity(cities: cities),
            listClusters: ListClusters(
                maps: MapClusters(repository: ClusterRepository(database: database)),
                lists: lists,
                views: views
            ),
            downloadPost: DownloadPost(posts: posts, blobs: core.blobs),
            presignPost: PresignPost(uploads: uploads, terms: core.terms),
            findPostOwner: FindPostOwner(posts: posts),
            listReportedPosts: ListReportedPosts(posts: posts, views: views)
        )
    }

    private static func presignedUploads(_ core: MediaCore, _ environment: ServiceEnvironment) -> PresignedUploads {
        PresignedUploads(
            uploads: UploadRepository(database: environment.database),
            mutations: environment.mutations,
            blobs: core.blobs,
            signer: core.uploadLinks,
            links: core.links,
            ids: environment.ids,
            logger: environment.logger
        )
    }
}
