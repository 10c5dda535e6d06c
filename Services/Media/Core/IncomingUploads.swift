package import BlobStore
package import CommonAPI
internal import Kernel
internal import Logging

/// The files that the gateway has stored under `incoming/` (D4).
package struct IncomingUploads: Sendable {
    let blobs: any BlobStore
    let logger: Logger

    /// Uses an upload and deletes it, whether `body` succeeds or not.
    ///
    /// - Parameter field: of the request, for the error of one without a file.
    package func use<Result: Sendable>(
        _ upload: CommonAPI.Blob?,
        _ field: String,
        _ body: (_ upload: CommonAPI.Blob, _ key: BlobKey) async throws -> Result
    ) async throws -> Result {
        guard let upload, upload.key.hasPrefix("incoming/") else {
            throw ServiceError.validation(field: field, "is required")
        }
        let key = try BlobKey(upload.key)
        do {
            let result = try await body(upload, key)
            await delete(key)
            return result
        } catch {
            if (error as? ServiceError) == .interruptedUpload {
                logger.warning(
                    "an upload is not where the gateway has put it: it was sent twice, or blob.folder is not the gateway's",
                    metadata: ["key": "\(key)"]
                )
            }
            await delete(key)
            throw Self.about(field, error)
        }
    }

    /// What is wrong with a file names its field, as all that is wrong with fields does (PF-2).
    private static func about(_ field: String, _ error: any Error) -> any Error {
        guard var refusal = error as? ServiceError, refusal.code == .invalidArgument, refusal.details.isEmpty,
            ["IMAGE", "VIDEO"].contains(where: refusal.reason.contains)
        else { return error }
        refusal.details = [ServiceError.Detail(field: field, message: refusal.message)]
        return refusal
    }

    /// Deletes the upload of a request that has its answer already.
    package func discard(_ upload: CommonAPI.Blob?) async {
        guard let upload, upload.key.hasPrefix("incoming/"), let key = try? BlobKey(upload.key) else { return }
        await delete(key)
    }

    /// The bytes of an upload.
    ///
    /// - Throws: as `BlobStore.readUpload`.
    package func bytes(of key: BlobKey) async throws -> [UInt8] { try await blobs.readUpload(key) }

    private func delete(_ key: BlobKey) async {
        do { try await blobs.delete(key) } catch {
            // The job for abandoned uploads deletes it later.
            logger.warning("an upload was not deleted", metadata: ["key": "\(key)", "error": "\(error)"])
        }
    }
}

extension BlobStore {
    /// The bytes of an upload that the gateway has stored, 10 MiB at most.
    ///
    /// - Throws: `UNAVAILABLE` when they are no longer there: another sending of the same request has ended and deleted them. The client asks
    ///   again and sends them again.
    package func readUpload(_ key: BlobKey) async throws -> [UInt8] {
        do { return try await read(key, limit: 10 << 20) } catch let error as ServiceError where error.code == .notFound {
            throw ServiceError.interruptedUpload
        }
    }

    /// Opens a large upload, to be read piece by piece.
    ///
    /// - Throws: `UNAVAILABLE` as `readUpload`, and what `body` throws.
    package func openUpload<Result>(_ key: BlobKey, _ body: (BlobBody) async throws -> Result) async throws -> Result {
        let bytes: BlobBody
        do { bytes = try await get(key, range: nil).body } catch let error as ServiceError where error.code == .notFound {
            throw ServiceError.interruptedUpload
        }
        return try await body(bytes)
    }
}

extension ServiceError {
    fileprivate static let interruptedUpload = ServiceError.unavailable("The upload was interrupted. Send it again.")
}
