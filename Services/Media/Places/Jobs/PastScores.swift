internal import Kernel
internal import ServiceRuntime

/// Deletes scores that no list goes back to any more.
struct PastScores: Sendable {
    let posts: PostRepository

    var job: Job {
        Job("past_scores", every: .seconds(60)) { [posts] _ in
            try await posts.deletePastScores(before: SystemClock.now() - PostListRepository.scoresKept, limit: 5_000)
        }
    }
}
