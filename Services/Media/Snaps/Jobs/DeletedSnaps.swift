internal import BlobStore
internal import Kernel
internal import ServiceRuntime

/// Deletes picture and caption of snaps that their authors have deleted. Each step may be repeated: the blobs first, then what the row has.
struct DeletedSnaps: Sendable {
    /// How long a report that is on its way may still keep them.
    static let wait = Interval.minutes(10)
    /// How long a replica has for one batch before another takes it up.
    private static let lease = Interval.seconds(60)

    let snaps: SnapRepository
    let blobs: any BlobStore

    var job: Job {
        Job("deleted_snaps", every: .seconds(10)) { [snaps, blobs] _ in
            let now = SystemClock.now()
            let due = try await snaps.lockErasures(now: now, until: now + Self.lease, limit: 50)
            for snap in due {
                for key in snap.keys { try await blobs.delete(try BlobKey(key)) }
            }
            try await snaps.erase(due)
            return due.count
        }
    }
}
