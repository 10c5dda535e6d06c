internal import BlobStore
internal import Kernel
internal import ServiceRuntime

/// Deletes presigned uploads a day after they were announced, used or not: the file first, then the row that knows of it. The day is one of the
/// product's clock, so the lease is too: where that clock is moved, another replica does the same once more, which changes nothing.
struct UnusedUploads: Sendable {
    private static let batch = 50
    /// How long a replica has for one batch before another takes it up.
    private static let lease = Interval.seconds(60)

    let uploads: UploadRepository
    let blobs: any BlobStore

    var job: Job {
        Job("unused_uploads", every: .seconds(30)) { [uploads, blobs] now in
            let due = try await uploads.lockDue(now: now, until: now + Self.lease, limit: Self.batch)
            for upload in due { try await blobs.delete(upload.key) }
            try await uploads.delete(due.map(\.id))
            return due.count
        }
    }
}
