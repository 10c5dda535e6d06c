internal import BlobStore
internal import Bus
internal import Kernel
internal import Logging
internal import MediaAPI
internal import MediaCore
internal import ServiceRuntime
internal import Videos

/// Files that clients send by themselves (PL-1): announced, sent to the store or through the gateway, and used by one post.
struct PresignedUploads: Sendable {
    /// How long a link works.
    static let linkLives = Interval.hours(1)
    /// Files of one user that are not used yet.
    static let most = 10
    static let mostPhotoBytes: Int64 = 10 << 20
    static let mostVideoBytes: Int64 = 100 << 20

    let uploads: UploadRepository
    let mutations: Mutations
    let blobs: any BlobStore
    let signer: SignedUpload
    let links: MediaLinks
    let ids: any IDSource
    let logger: Logger

    /// Records a file and makes the link for it.
    ///
    /// - Throws: `VALIDATION_ERROR` naming hash or size; `TOO_MANY_UPLOADS`.
    func announce(_ request: PresignPostRequest, by user: UserID, _ context: CallContext) async throws -> Once<PresignPostReply> {
        let file = try Self.file(request)
        return try await mutations.once(context, request) { work in
            let upload = AnnouncedUpload(
                id: ids.make(),
                user: user,
                size: file.size,
                contentType: file.contentType,
                sha256: request.sha256,
                post: request.postID
            )
            guard try await UploadRepository.announce(upload, most: Self.most, now: work.now, work.sql) else {
                throw ServiceError(
                    .resourceExhausted,
                    "TOO_MANY_UPLOADS",
                    "You have \(Self.most) uploads that are not used yet. Use them, or wait until they are deleted after a day.",
                    // When the first is deleted is not known here; sooner than in an hour is in vain.
                    retryAfter: 3_600
                )
            }
            let expires = work.now + Self.linkLives
            let link = try link(for: file, to: try upload.key, expires: expires)
            return PresignPostReply(
                uploadID: upload.id,
                url: link.url,
                headers: link.headers.map { UploadHeader(name: $0.name, value: $0.value) },
                expiresAt: Instant(seconds: expires.seconds)
            )
        }
    }

    /// The file that a request announces.
    ///
    /// - Throws: `VALIDATION_ERROR` naming hash and size.
    static func file(_ request: PresignPostRequest) throws -> ExpectedUpload {
        var check = FieldCheck()
        let most = VideoFormat(mediaType: request.type) == nil ? mostPhotoBytes : mostVideoBytes
        check.require(request.size <= most, "size", "must be at most \(most) for a file of this type")
        let sha256 = bytes(ofHex: request.sha256)
        check.require(sha256 != nil, "sha256", "must be 64 digits 0-9 and a-f")
        try check.finish()
        return ExpectedUpload(size: request.size, contentType: request.type, sha256: sha256 ?? [])
    }

    private func link(for file: ExpectedUpload, to key: BlobKey, expires: Instant) throws -> DirectUpload {
        blobs.directUpload(of: file, to: key, seconds: Self.linkLives.seconds)
            ?? signer.sign(file, to: key, expires: expires, base: links.address(""))
    }

    /// Deletes the file of a post that is shown. Its row stays until it is due: by the same link the file may be sent once more.
    func deleteFile(of upload: AnnouncedUpload) async {
        do { try await blobs.delete(try upload.key) } catch {
            logger.warning("an upload is deleted later", metadata: ["upload": "\(upload.id)", "error": "\(error)"])
        }
    }

    /// Deletes a file that is refused: nothing is kept of it.
    func reject(_ upload: AnnouncedUpload) async {
        do {
            try await blobs.delete(try upload.key)
            try await uploads.delete([upload.id])
        } catch {
            logger.warning("an upload is deleted later", metadata: ["upload": "\(upload.id)", "error": "\(error)"])
        }
    }

    /// nil unless the text is 32 bytes in lower-case hexadecimal.
    static func bytes(ofHex text: String) -> [UInt8]? {
        let digits = text.utf8.map { byte -> UInt8? in
            switch byte {
            case 48...57: byte - 48
            case 97...102: byte - 87
            default: nil
            }
        }
        guard digits.count == 64, !digits.contains(nil) else { return nil }
        return stride(from: 0, to: 64, by: 2).map { (digits[$0] ?? 0) << 4 | (digits[$0 + 1] ?? 0) }
    }
}

/// Why a presigned upload cannot become a post.
enum UploadRefusal {
    static let incomplete = ServiceError(.failedPrecondition, "UPLOAD_INCOMPLETE", "The file has not been sent yet.")
    static let used = ServiceError(.failedPrecondition, "UPLOAD_USED", "This upload is for another post.")

    /// - Parameter field: of what was announced: size, type or sha256.
    static func mismatch(_ field: String) -> ServiceError {
        ServiceError(
            .invalidArgument,
            "UPLOAD_MISMATCH",
            "This is not the file that was announced. Announce it again.",
            details: [.init(field: field, message: "is not that of the file")]
        )
    }
}
