internal import Kernel
internal import MediaDomain
internal import ServiceRuntime

/// Adds what votes have changed to the counts of their posts, and ranks these anew. A post with many voters is written a few times a
/// second, not once for each: until then a reader adds up the rest.
struct CountedVotes: Sendable {
    private static let batch = 5_000
    /// With fewer changes the next run can wait.
    private static let many = 200
    let votes: VoteRepository

    var job: Job {
        Job("counted_votes", every: .seconds(1)) { [votes] _ in
            let counted = try await votes.count(most: Self.batch) { up, down, postedAt in
                PostScore.value(up: up, down: down, received: postedAt)
            }
            return counted < Self.many ? 0 : counted
        }
    }
}
