internal import Bus
internal import Kernel
internal import MediaAPI

/// Takes the caller's vote back (PL-3).
struct RemovePostVote: MutationHandler {
    let votes: Votes

    func handle(_ request: RemovePostVoteRequest, _ context: CallContext) async throws -> Once<VoteReply> {
        try await votes.set(nil, on: request.postID, request, context)
    }
}
