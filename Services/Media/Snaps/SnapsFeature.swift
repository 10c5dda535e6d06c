internal import Bus
internal import Database
internal import Kernel
internal import MediaAPI
internal import MediaCore
internal import Outbox
internal import Runtime
package import ServiceRuntime
internal import StreaksAPI

/// Daily photos: posting them, the feed and the history (PH-1 to PH-6).
package enum SnapsFeature {
    package static let feature = ServiceFeature(
        "snaps",
        migrations: [
            MigrationSet(
                "snaps",
                [
                    Migration(version: 1, name: "snaps", sql: PackageResources.V0001_snaps_sql),
                    Migration(version: 2, name: "deleted", sql: PackageResources.V0002_deleted_sql),
                ]
            )
        ],
        personalData: [.snaps]
    ) { environment in
        let core = try await MediaCore.shared(by: environment)
        let snaps = SnapRepository(database: environment.database)
        let operations = SnapOperations(
            repository: SnapOperationRepository(database: environment.database),
            snaps: snaps,
            streaks: MutualClient(environment.bus),
            work: environment.work,
            links: core.links,
            blobs: core.blobs,
            images: core.images,
            clock: environment.clock,
            logger: environment.logger
        )
        return FeatureParts(
            endpoints: endpoints(core, snaps, operations, environment),
            consumers: [ReportedSnaps.handler],
            jobs: [
                UnfinishedSnaps(operations: operations).job, OldOperations(operations: operations).job,
                DeletedSnaps(snaps: snaps, blobs: core.blobs).job,
            ]
        )
    }

    private static func endpoints(
        _ core: MediaCore,
        _ snaps: SnapRepository,
        _ operations: SnapOperations,
        _ environment: ServiceEnvironment
    ) -> [Endpoint] {
        let views = SnapViews(links: core.links, clock: environment.clock)
        let streaks = MutualClient(environment.bus)
        return SnapsService.endpoints(
            uploadSnap: UploadSnap(
                operations: operations,
                streaks: streaks,
                terms: core.terms,
                uploads: core.uploads,
                mutations: environment.mutations,
                clock: environment.clock,
                ids: environment.ids
            ),
            getFeed: GetFeed(snaps: snaps, views: views, streaks: streaks),
            getStreakSnaps: GetStreakSnaps(snaps: snaps, views: views),
            getSnapHistory: GetSnapHistory(snaps: snaps, views: views, streaks: streaks),
            deleteSnap: DeleteSnap(mutations: environment.mutations),
            listReportedSnaps: ListReportedSnaps(snaps: snaps, views: views),
            findSnapOwner: FindSnapOwner(snaps: snaps)
        )
    }
}
