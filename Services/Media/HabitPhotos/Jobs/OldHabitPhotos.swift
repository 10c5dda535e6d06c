internal import BlobStore
internal import Kernel
internal import ServiceRuntime

/// Deletes photos that were replaced or deleted, and those whose maker died: the blobs first, then the row that knows of them.
struct OldHabitPhotos: Sendable {
    private static let batch = 20
    /// How long a replica has for one batch before another takes it up.
    private static let lease = Interval.seconds(60)

    let repository: HabitPhotoRepository
    let blobs: any BlobStore

    var job: Job {
        Job("old_habit_photos", every: .seconds(2)) { [repository, blobs] _ in
            // Due times run on the machine's clock, as leases do.
            let now = SystemClock.now()
            let due = try await repository.lockDue(now: now, until: now + Self.lease, limit: Self.batch)
            for photo in due {
                for key in photo.keys { try await blobs.delete(key) }
            }
            try await repository.delete(due.map(\.id))
            return due.count
        }
    }
}
