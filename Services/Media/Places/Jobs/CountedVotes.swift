internal import Kernel
internal import MediaDomain
internal import ServiceRuntime

/// Adds what votes have changed to the counts of their posts, and ranks these anew. A post with many voters is written every other
/// second, not once for each: until then a reader adds up the rest.
struct CountedVotes: Sendable {
    private static let batch = 5_000
    let votes: VoteRepository

    var job: Job {
        Job("counted_votes", every: .seconds(2)) { [votes] _ in
            let counted = try await votes.count(most: Self.batch) { up, down, postedAt in
                PostScore.value(up: up, down: down, received: postedAt)
            }
            // What comes meanwhile waits for the next run: a post is written once for all its votes of that time.
            return counted < Self.batch ? 0 : counted
        }
    }
}
