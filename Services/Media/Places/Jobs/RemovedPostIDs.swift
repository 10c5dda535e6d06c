internal import Kernel
internal import ServiceRuntime

/// Deletes the ids of removed posts after 30 days. A vote that was cast while its post was being removed goes with it.
struct RemovedPostIDs: Sendable {
    private static let age = Interval.days(30)
    let posts: PostRepository

    var job: Job {
        Job("removed_post_ids", every: .seconds(600)) { [posts] now in
            try await posts.forgetRemoved(before: now - Self.age, limit: 500)
        }
    }
}
