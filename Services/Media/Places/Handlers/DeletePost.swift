internal import Bus
internal import Kernel
internal import MediaAPI
internal import ServiceRuntime

/// Removes a post of the caller's own. It is not shown any more at once; the job `removed_posts` deletes its blobs and votes.
struct DeletePost: MutationHandler {
    let mutations: Mutations

    func handle(_ request: DeletePostRequest, _ context: CallContext) async throws -> Once<DeletePostReply> {
        let user = try context.requireUser()
        return try await mutations.once(context, request) { work in
            guard try await PostRepository.remove(request.postID, of: user, now: SystemClock.now(), work.sql) else {
                throw ServiceError.notFound("post")
            }
            return DeletePostReply(postID: request.postID)
        }
    }
}
