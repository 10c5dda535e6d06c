internal import BlobStore
internal import Kernel
internal import ServiceRuntime

/// Brings the blob store in line with who may be seen (PH-6): a marker withholds all blobs of an owner at once, and after 30 days the
/// blobs themselves are deleted (AU-7). Each step may be repeated.
struct PhotoOwners: Sendable {
    /// How long a replica has for one batch before another takes it up.
    private static let lease = Interval.seconds(30)

    /// Whose second segment is the owner.
    let folders: [String]
    let owners: OwnerRepository
    let blobs: any BlobStore

    var job: Job {
        Job("photo_owners", every: .seconds(2)) { _ in
            // Leases run on the machine's clock, as everywhere.
            let now = SystemClock.now()
            let due = try await owners.lockDue(now: now, leaseUntil: now + Self.lease, limit: 10)
            for owner in due {
                if owner.isPurged {
                    try await erase(owner.user)
                } else if owner.isWithheld {
                    try await blobs.withhold(owner.user)
                } else {
                    try await blobs.release(owner.user)
                }
                try await owners.done(owner)
            }
            return due.count
        }
    }

    /// The marker is deleted last: until then nothing is served.
    private func erase(_ user: UserID) async throws {
        for folder in folders {
            while true {
                let page = try await blobs.list(prefix: "\(folder)/\(user)/", after: nil, limit: 500)
                for blob in page { try await blobs.delete(blob.key) }
                if page.isEmpty { break }
            }
        }
        try await blobs.release(user)
    }
}
