package import BlobStore
package import CommonAPI
internal import Kernel
internal import Logging

/// The files that the gateway has stored under `incoming/` (D4).
package struct IncomingUploads: Sendable {
    /// What the gateway lets through, 10 MiB.
    private static let mostBytes: Int64 = 10 << 20

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
            await delete(key)
            throw error
        }
    }

    /// The bytes of an upload.
    package func bytes(of key: BlobKey) async throws -> [UInt8] { try await blobs.read(key, limit: Self.mostBytes) }

    private func delete(_ key: BlobKey) async {
        do { try await blobs.delete(key) } catch {
            // The job for abandoned uploads deletes it later.
            logger.warning("an upload was not deleted", metadata: ["key": "\(key)", "error": "\(error)"])
        }
    }
}
