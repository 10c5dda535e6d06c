internal import Bus
internal import Kernel
internal import MediaAPI

/// Votes on another user's post, or changes one's vote (PL-3).
struct VotePost: MutationHandler {
    let votes: Votes

    func handle(_ request: VotePostRequest, _ context: CallContext) async throws -> Once<VoteReply> {
        guard let vote = Vote(rawValue: request.vote) else { throw ServiceError.internal }
        return try await votes.set(vote, on: request.postID, request, context)
    }
}
