internal import ServiceRuntime

/// Names the places of posts that were made before there were names (PL-2). New posts have them from the start.
struct NamedPosts: Sendable {
    private static let batch = 200
    let posts: PostRepository

    var job: Job {
        Job("named_posts", every: .seconds(60)) { [posts] _ in try await posts.nameSome(Self.batch) }
    }
}
