internal import BlobStore
internal import Kernel
internal import ServiceRuntime

/// Deletes presigned uploads that no row knows of any more: a refused file can be sent once more while its link lives.
struct StrayUploads: Sendable {
    /// Rows are gone by then: files are sent within an hour after they are announced, and rows live for a day.
    private static let age = UploadRepository.kept + .hours(2)

    let blobs: any BlobStore

    var job: Job {
        Job("stray_uploads", every: .seconds(600)) { [blobs] _ in
            // Blobs carry the machine's time, not the development clock's.
            let limit = SystemClock.now() - Self.age
            var (last, count) = (BlobKey?.none, 0)
            while true {
                let page = try await blobs.list(prefix: "\(SignedUpload.folder)/", after: last, limit: 1_000)
                guard let end = page.last else { return count }
                last = end.key
                for blob in page where blob.modified < limit {
                    try await blobs.delete(blob.key)
                    count += 1
                }
            }
        }
    }
}
