internal import BlobStore
internal import Kernel
internal import ServiceRuntime

/// Brings the blob store in line with which pictures are served (PH-6). Each step may be repeated.
struct ClosedPictures: Sendable {
    /// How long a replica has for one batch before another takes it up.
    private static let lease = Interval.seconds(30)

    let pictures: ClosedPictureRepository
    let blobs: any BlobStore

    var job: Job {
        Job("closed_pictures", every: .seconds(1)) { [pictures, blobs] _ in
            // Leases run on the machine's clock, as everywhere.
            let now = SystemClock.now()
            let due = try await pictures.lockDue(now: now, until: now + Self.lease, limit: 50)
            for closing in due {
                let key = try BlobKey(closing.key)
                if closing.isClosed { try await blobs.close(folderOf: key) } else { try await blobs.reopen(folderOf: key) }
                try await pictures.done(closing)
            }
            return due.count
        }
    }
}
