internal import BlobStore
private import Cryptography
internal import Images
internal import Kernel
internal import MediaCore
internal import Videos
internal import WorkPool

/// The file of a new post.
struct PostSource: Sendable {
    /// What it must be.
    enum Kind: Sendable {
        case photo, video
    }

    let key: BlobKey
    let kind: Kind
    /// Bytes.
    let size: Int64
    /// Set when it was sent by a presigned link: the file must be the one that was announced.
    var upload: AnnouncedUpload?

    /// Megabytes that what is stored of it may take: the renditions of a picture, and the video.
    var megabytes: Int { 2 + (kind == .video ? Int(clamping: size / 1_000_000) : 0) }

    /// How long its maker may take before the post is given up.
    var lease: Interval { kind == .photo ? .seconds(20) : .seconds(80) }
}

/// What is stored of a post's file.
struct RenderedPost: Sendable {
    /// Of the picture that is shown: the photo, or the poster of a video.
    let width: Int32
    let height: Int32
    /// What the moderator has found in that picture.
    let screened: PostScreening.Outcome
    /// Bytes of all that is stored.
    var fileBytes: Int64
    var video: PostVideo?
}

/// The video of a post.
struct PostVideo: Sendable {
    let format: StoredVideoFormat
    let milliseconds: Int64
}

/// Checks the file of a post and stores what is made of it. Nothing of it is visible before its post is shown.
struct PostRenditions: Sendable {
    let blobs: any BlobStore
    let images: ImageProcessor
    let videos: VideoProcessor

    /// Asked about the picture that is shown, before anything is stored (PL-5); throws when it must not be.
    typealias Screen = @Sendable (_ picture: [UInt8]) async throws -> PostScreening.Outcome

    /// - Throws: the errors of `ImageProcessor` or `VideoProcessor`; `UPLOAD_INCOMPLETE`, `UPLOAD_MISMATCH` for a presigned upload; what `screen`
    ///   throws.
    func store(_ source: PostSource, as keys: PostBlobKeys, screen: @escaping Screen) async throws -> RenderedPost {
        if let upload = source.upload {
            guard let info = try await blobs.info(of: source.key) else { throw UploadRefusal.incomplete }
            guard info.size == upload.size else { throw UploadRefusal.mismatch("size") }
        }
        switch source.kind {
        case .photo: return try await storePhoto(source, as: keys, screen)
        case .video: return try await storeVideo(source, as: keys, screen)
        }
    }

    private func storePhoto(_ source: PostSource, as keys: PostBlobKeys, _ screen: @escaping Screen) async throws -> RenderedPost
    {
        let bytes = try await blobs.readUpload(source.key)
        if let upload = source.upload {
            try Self.check(Int64(bytes.count), Array(SHA256.hash(data: bytes)), upload)
            guard ImageFormat(sniffing: bytes)?.mediaType == upload.contentType else { throw UploadRefusal.mismatch("type") }
        }
        return try await storePicture(bytes, as: keys, screen)
    }

    private func storeVideo(_ source: PostSource, as keys: PostBlobKeys, _ screen: @escaping Screen) async throws -> RenderedPost
    {
        try await blobs.openUpload(source.key) { body in
            if let upload = source.upload {
                let head = try await blobs.get(source.key, range: 0..<12)
                var bytes: [UInt8] = []
                for try await chunk in head.body { bytes += chunk }
                // MP4 and MOV are the same boxes, and apps name either.
                let isWebM = VideoFormat(sniffing: bytes).map { $0 == .webM }
                guard isWebM == (VideoFormat(mediaType: upload.contentType) == .webM) else {
                    throw UploadRefusal.mismatch("type")
                }
            }
            return try await videos.process(
                body,
                of: keys.user.description,
                check: { size, sha256 in
                    if let upload = source.upload { try Self.check(size, sha256, upload) }
                },
                use: { video in
                    var rendered = try await storePicture(video.poster, as: keys, screen)
                    _ = try await blobs.put(try keys.video(video.format), from: try video.chunks(), limit: video.size)
                    rendered.fileBytes += video.size
                    rendered.video = PostVideo(format: video.format, milliseconds: video.milliseconds)
                    return rendered
                }
            )
        }
    }

    private func storePicture(_ bytes: [UInt8], as keys: PostBlobKeys, _ screen: Screen) async throws -> RenderedPost {
        let renditions = try await images.renditions(of: bytes, for: WorkShare(of: keys.user, .patient))
        let screened = try await screen(renditions.display)
        _ = try await blobs.put(try keys.display, renditions.display)
        _ = try await blobs.put(try keys.thumbnail, renditions.thumbnail)
        return RenderedPost(
            width: Int32(renditions.width),
            height: Int32(renditions.height),
            screened: screened,
            fileBytes: Int64(renditions.display.count + renditions.thumbnail.count)
        )
    }

    private static func check(_ size: Int64, _ sha256: [UInt8], _ upload: AnnouncedUpload) throws {
        guard size == upload.size else { throw UploadRefusal.mismatch("size") }
        guard sha256 == PresignedUploads.bytes(ofHex: upload.sha256) else { throw UploadRefusal.mismatch("sha256") }
    }
}
