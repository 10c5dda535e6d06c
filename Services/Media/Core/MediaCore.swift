internal import BlobConfiguration
package import BlobStore
package import Images
internal import Logging
package import Replicas
internal import Runtime
package import ServiceRuntime
package import Videos

/// What the features of `media` share: one pool of decoders, one blob store and one cache of links for a replica.
package struct MediaCore: Sendable {
    package let blobs: any BlobStore
    package let links: MediaLinks
    package let images: ImageProcessor
    package let videos: VideoProcessor
    package let uploadLinks: SignedUpload
    package let profiles: ProfileReplica
    package let blocks: BlockReplica
    package let terms: Terms
    package let uploads: IncomingUploads

    /// The one of a replica.
    ///
    /// - Throws: `Settings.Invalid`.
    package static func shared(by environment: ServiceEnvironment) async throws -> MediaCore {
        try await environment.shared { try await MediaCore($0) }
    }

    private init(_ environment: ServiceEnvironment) async throws {
        let (settings, database, logger) = (environment.settings, environment.database, environment.logger)
        blobs = try await BlobSettings.store(settings, logger: logger)
        links = try MediaLinks(settings)
        images = ImageProcessor(
            threads: try settings.get(CoreFeature.threads),
            queueLimit: try settings.get(CoreFeature.queue),
            logger: logger
        )
        videos = VideoProcessor(
            folder: try settings.get(CoreFeature.videoFolder),
            limits: VideoLimits(seconds: try settings.get(CoreFeature.videoSeconds)),
            atOnce: try settings.get(CoreFeature.videoThreads),
            queueLimit: try settings.get(CoreFeature.videoQueue),
            logger: logger
        )
        if !videos.isUsable { logger.warning("videos cannot be posted", metadata: ["cause": "ffmpeg is not installed"]) }
        uploadLinks = SignedUpload(secret: Array(try settings.get(BlobSettings.signingKey).utf8))
        profiles = ProfileReplica(database: database, bus: environment.bus)
        blocks = BlockReplica(database: database, bus: environment.bus) { blocker, blocked, sql in
            try await HiddenPairRepository.note(blocker, blocked, sql)
            try await StaleAvatarRepository.note(blocker, blocked, sql)
        }
        terms = Terms(profiles: profiles, version: try settings.get(TermsSettings.version))
        uploads = IncomingUploads(blobs: blobs, logger: logger)
    }
}
