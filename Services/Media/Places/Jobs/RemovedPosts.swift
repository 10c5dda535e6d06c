internal import BlobStore
internal import Kernel
internal import ServiceRuntime

/// Deletes posts that their authors removed, and those whose maker died: blobs first, then votes and the row that knows of them.
struct RemovedPosts: Sendable {
    private static let batch = 50
    /// How long a replica has for one batch before another takes it up.
    private static let lease = Interval.seconds(60)

    let posts: PostRepository
    let blobs: any BlobStore

    var job: Job {
        Job("removed_posts", every: .seconds(2)) { [posts, blobs] now in
            // Due times run on the machine's clock, as leases do; how long the id of a removed post is kept, on the product's.
            let machine = SystemClock.now()
            let due = try await posts.lockDue(now: machine, until: machine + Self.lease, limit: Self.batch)
            for post in due {
                for key in try post.all { try await blobs.delete(key) }
            }
            for (author, removed) in Dictionary(grouping: due, by: \.user) {
                try await posts.delete(removed.map(\.id), of: author, now: now)
            }
            return due.count
        }
    }
}
