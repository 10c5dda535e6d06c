internal import BlobConfiguration
package import BlobStore
package import Images
internal import Logging
package import Replicas
internal import Runtime
package import ServiceRuntime

/// What the features of `media` share: one pool of decoders, one blob store and one cache of links for a replica.
package struct MediaCore: Sendable {
    package let blobs: any BlobStore
    package let links: MediaLinks
    package let images: ImageProcessor
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
        profiles = ProfileReplica(database: database, bus: environment.bus)
        blocks = BlockReplica(database: database, bus: environment.bus, stored: HiddenPairRepository.note)
        terms = Terms(profiles: profiles)
        uploads = IncomingUploads(blobs: blobs, logger: logger)
    }
}
