internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaCore
internal import MediaDomain
internal import ServiceRuntime

/// Posts a photo or video with its position (PL-1, AU-9). It is decoded before anything is shown: of a refused file nothing is kept.
struct CreatePost: MutationHandler {
    let posts: NewPosts
    let terms: Terms
    let uploads: IncomingUploads

    func handle(_ request: CreatePostRequest, _ context: CallContext) async throws -> Once<CreatePostReply> {
        let user = try context.requireUser()
        // Around the reading of the file: a repeat must neither decode it nor delete it meanwhile.
        return try await posts.mutations.alone(
            context,
            request.withoutKeys(of: \.photo, \.video),
            answered: { await uploads.discard(request.photo ?? request.video) },
            { try await create(request, by: user, context) }
        )
    }

    private func create(_ request: CreatePostRequest, by user: UserID, _ context: CallContext) async throws
        -> Once<CreatePostReply>
    {
        guard request.photo != nil || request.video != nil else {
            guard let upload = request.uploadID else { throw ServiceError.internal }
            try await terms.requireAccepted(by: user, context)
            return try await posts.create(request, of: upload, by: user, context)
        }
        return try await uploads.use(request.photo ?? request.video, "photo") { _, incoming in
            try await terms.requireAccepted(by: user, context)
            return try await posts.create(request, from: incoming, by: user, context)
        }
    }

    /// What is wrong whatever the file is.
    func problems(of request: CreatePostRequest) -> [ServiceError.Detail] {
        FieldCheck.problems { check in
            let hasFile = request.photo != nil || request.video != nil || request.uploadID != nil
            check.require(hasFile, "photo", "is required, or video, or upload_id")
            let isOne = request.uploadID == nil || (request.photo == nil && request.video == nil)
            check.require(isOne, "upload_id", "cannot be given together with a file")
            _ = try check.take { try PlaceText.caption(request.caption ?? "", field: "caption") }
            _ = try check.take { try Coordinate(latitude: request.latitude, longitude: request.longitude) }
        }
    }
}
