internal import BlobStore
internal import Kernel
internal import ServiceRuntime

/// Deletes pictures that were replaced or taken away, and those whose maker died: the blobs first, then the row that knows of them.
struct OldAvatars: Sendable {
    private static let batch = 20
    /// How long a replica has for one batch before another takes it up.
    private static let lease = Interval.seconds(60)

    let repository: AvatarRepository
    let blobs: any BlobStore

    var job: Job {
        Job("old_avatars", every: .seconds(5)) { [repository, blobs] _ in
            // Due times run on the machine's clock, as leases do.
            let now = SystemClock.now()
            let due = try await repository.lockDue(now: now, until: now + Self.lease, limit: Self.batch)
            for avatar in due {
                for key in try avatar.keys { try await blobs.delete(key) }
            }
            try await repository.delete(due.map(\.id))
            return due.count
        }
    }
}
