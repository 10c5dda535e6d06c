internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaCore

/// Posts a photo with its position (PL-1, AU-9). The bytes are decoded before anything is shown: of a refused file nothing is kept.
struct CreatePost: MutationHandler {
    let posts: NewPosts
    let terms: Terms
    let uploads: IncomingUploads

    func handle(_ request: CreatePostRequest, _ context: CallContext) async throws -> Once<CreatePostReply> {
        let user = try context.requireUser()
        return try await uploads.use(request.photo, "photo") { _, incoming in
            try await terms.requireAccepted(by: user, context)
            return try await posts.create(request, from: incoming, by: user, context)
        }
    }
}
