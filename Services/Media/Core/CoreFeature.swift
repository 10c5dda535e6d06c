internal import BlobConfiguration
internal import Database
internal import Kernel
internal import Outbox
internal import Replicas
package import Runtime
package import ServiceRuntime

/// What the features of `media` share: the blob store, whose photos are withheld, who is hidden from whom, and the replicas of facts. Loaded by
/// every replica.
package enum CoreFeature {
    static let threads = Setting("media.threads", default: 2, in: 1...256, help: "Photos decoded at once.")
    package static let queue = Setting(
        "media.queue",
        default: 32,
        in: 0...100_000,
        help: "Photos that may wait to be decoded; more are answered UNAVAILABLE."
    )

    static let videoSeconds = Setting("media.video-seconds", default: 60, in: 1...3_600, help: "Seconds that a video may last.")
    static let videoThreads = Setting("media.video-threads", default: 1, in: 1...256, help: "Videos processed at once.")
    static let videoQueue = Setting(
        "media.video-queue",
        default: 8,
        in: 0...100_000,
        help: "Videos that may wait to be processed; more are answered UNAVAILABLE."
    )
    static let videoFolder = Setting(
        "media.video-folder",
        default: "/tmp",
        help: "Folder for videos while they are processed, 200 MB for each that waits; need not survive a restart."
    )

    /// The feature.
    ///
    /// - Parameter blobs: every kind of blob that the features store.
    package static func feature(_ blobs: [BlobTable]) -> ServiceFeature {
        ServiceFeature(
            "core",
            settings: BlobSettings.all + [
                LinkSettings.publicURL, TermsSettings.version, threads, queue, videoSeconds, videoThreads, videoQueue,
                videoFolder,
            ],
            migrations: [
                MigrationSet("block_replica", BlockReplica.migrations),
                MigrationSet("profile_replica", ProfileReplica.migrations),
                MigrationSet(
                    "core",
                    [
                        Migration(version: 1, name: "owners", sql: PackageResources.V0001_owners_sql),
                        Migration(version: 2, name: "stale_avatars", sql: PackageResources.V0002_stale_avatars_sql),
                        Migration(version: 3, name: "closed", sql: PackageResources.V0003_closed_sql),
                    ]
                ),
            ],
            personalData: [.core, BlockReplica.personalData, ProfileReplica.personalData],
            isAlwaysLoaded: true
        ) { environment in
            let core = try await MediaCore.shared(by: environment)
            return FeatureParts(
                consumers: core.blocks.handlers() + [core.profiles.handler(), OwnerConsumer.handler],
                jobs: jobs(core, environment, ownFolders: blobs.filter(\.hasOneOwner).map(\.folder))
            )
        }
    }

    private static func jobs(_ core: MediaCore, _ environment: ServiceEnvironment, ownFolders: [String]) -> [Job] {
        let (blobs, database) = (core.blobs, environment.database)
        return [
            core.blocks.snapshotJob,
            AbandonedUploads(blobs: blobs).job,
            HiddenPairs(pairs: HiddenPairRepository(database: database), blobs: blobs, clock: environment.clock).job,
            ClosedPictures(pictures: ClosedPictureRepository(database: database), blobs: blobs).job,
            // The markers of pictures too: after the pictures, which stay closed until they are gone.
            PhotoOwners(folders: ownFolders + ["closed"], owners: OwnerRepository(database: database), blobs: blobs).job,
        ]
    }
}
