internal import BlobStore
internal import Kernel
internal import ServiceRuntime

/// Deletes uploads that no request used: the client or a process died between storing the bytes and using them (D4).
struct AbandonedUploads: Sendable {
    private static let age = Interval.hours(1)
    let blobs: any BlobStore

    var job: Job {
        Job("abandoned_uploads", every: .seconds(300)) { [blobs] _ in
            // Blobs carry the machine's time, not the development clock's.
            let limit = SystemClock.now() - Self.age
            let old = try await blobs.list(prefix: "incoming/", after: nil, limit: 1_000).filter { $0.modified < limit }
            for blob in old { try await blobs.delete(blob.key) }
            return old.count
        }
    }
}
