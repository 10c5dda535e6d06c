internal import BlobStore
internal import Bus
internal import CommonAPI
internal import Database
internal import Kernel
internal import Logging
internal import MediaAPI
internal import MediaCore
internal import MediaDomain
internal import ServiceRuntime
internal import Videos

/// Makes posts: recorded → stored → shown, in this order (D6). A job deletes what does not come to its end.
///
/// The row comes first, under the id that the client may have made. So of the same post sent twice, at once or days apart, the second finds
/// the first and gets it.
struct NewPosts: Sendable {
    /// How often a repeat looks whether the first has made its renditions.
    private static let pollInterval = Duration.milliseconds(20)
    /// Least time of a request that waiting makes sense in.
    private static let leastTime = Interval.milliseconds(200)

    let posts: PostRepository
    let views: PostViews
    let mutations: Mutations
    let blobs: any BlobStore
    let renditions: PostRenditions
    let uploads: PresignedUploads
    let screening: PostScreening
    let quotas: Quotas
    let clock: any Clock
    let ids: any IDSource
    let logger: Logger

    /// Posts a file that came with its request. Its caller sees to it that no other sending does (`Mutations.alone`).
    ///
    /// - Throws: `POST_ID_TAKEN` when the id is another post's, `POST_REMOVED` when the author has removed the post since, `QUOTA_EXCEEDED`.
    func create(_ request: CreatePostRequest, from incoming: BlobKey, by user: UserID, _ context: CallContext) async throws
        -> Once<CreatePostReply>
    {
        let same = request.withoutKeys(of: \.photo, \.video)
        let draft = try PostDraft(request, id: request.postID ?? ids.make(), user: user, receivedAt: clock.now())
        let source = PostSource(
            key: incoming,
            kind: request.video == nil ? .photo : .video,
            size: Int64(clamping: (request.photo ?? request.video)?.size ?? 0)
        )
        return try await create(draft, from: source, same, try await views.author(user, context), context)
    }

    /// Posts a file that was sent by a presigned link.
    ///
    /// - Throws: as the other; `NOT_FOUND` for an upload that the user does not have; `UPLOAD_USED`, `UPLOAD_INCOMPLETE`, `UPLOAD_MISMATCH`.
    func create(_ request: CreatePostRequest, of id: UploadID, by user: UserID, _ context: CallContext) async throws
        -> Once<CreatePostReply>
    {
        var draft = try PostDraft(request, id: request.postID ?? ids.make(), user: user, receivedAt: clock.now())
        let author = try await views.author(user, context)
        guard let upload = try await uploads.uploads.assign(id, of: user, to: draft.id) else {
            // Uploads are deleted a day later: what was made of them is still the answer.
            guard let made = try await posts.made(from: id, by: user) else { throw ServiceError.notFound("upload") }
            guard request.postID ?? made == made else { throw UploadRefusal.used }
            draft.id = made
            return try await answer(draft, request, author, context)
        }
        guard request.postID == nil || request.postID == upload.post else { throw UploadRefusal.used }
        (draft.id, draft.sha256, draft.upload) = (upload.post ?? draft.id, upload.sha256, id)
        let kind: PostSource.Kind = VideoFormat(mediaType: upload.contentType) == nil ? .photo : .video
        let source = PostSource(key: try upload.key, kind: kind, size: upload.size, upload: upload)
        return try await create(draft, from: source, request, author, context)
    }

    private func create(
        _ draft: PostDraft,
        from source: PostSource,
        _ same: CreatePostRequest,
        _ author: UserSummary,
        _ context: CallContext
    ) async throws -> Once<CreatePostReply> {
        while context.remaining > Self.leastTime {
            switch try await standing(of: draft) {
            case .shown: return try await answer(draft, same, author, context)
            case .beingMade: try await Task.sleep(for: Self.pollInterval)
            case .absent:
                try await quotas.require(in: .posts, of: draft.user, posts.database)
                try await quotas.require(source.megabytes, in: .postFiles, of: draft.user, posts.database)
                let lease = SystemClock.now() + source.lease
                guard try await posts.claim(draft, until: lease, bytes: Int64(source.megabytes) * 1_000_000) else { continue }
                return try await make(draft, from: source, same, author, context)
            }
        }
        throw ServiceError.unavailable("The first upload of this post has not ended.")
    }

    /// What there is under the id of a draft.
    private enum Found {
        case absent, beingMade, shown
    }

    private func standing(of draft: PostDraft) async throws -> Found {
        guard let stored = try await posts.stored(draft.id) else {
            guard let owner = try await posts.removedBy(draft.id) else { return .absent }
            throw owner == draft.user ? PostRefusal.removed : PostRefusal.idTaken
        }
        guard stored.user == draft.user, stored.sha256 == draft.sha256 else { throw PostRefusal.idTaken }
        switch stored.standing {
        case .shown: return .shown
        case .removed: throw PostRefusal.removed
        // The job deletes what there is of it, and then it can be made.
        case .givenUp: return .beingMade
        case .beingMade(let lease):
            // Its maker has died.
            if lease <= SystemClock.now() { try await posts.giveUp(draft.id, now: SystemClock.now()) }
            return .beingMade
        }
    }

    private func make(
        _ draft: PostDraft,
        from source: PostSource,
        _ same: CreatePostRequest,
        _ author: UserSummary,
        _ context: CallContext
    ) async throws -> Once<CreatePostReply> {
        do {
            let keys = PostBlobKeys(user: draft.user, id: draft.id)
            let rendered = try await renditions.store(source, as: keys) { picture in
                try await screening.screen(picture, of: draft.id, by: draft.user, context)
            }
            let once = try await publish(draft, rendered, same, author, context)
            if let upload = source.upload { await uploads.deleteFile(of: upload) }
            // The answer of an earlier request with this key (PF-4): its post is the one.
            if once.reply.post?.id != draft.id { await giveUp(draft) }
            return once
        } catch {
            await giveUp(draft)
            // What is wrong with the file stays wrong.
            if let upload = source.upload, (error as? ServiceError)?.code == .invalidArgument { await uploads.reject(upload) }
            throw error
        }
    }

    /// Shows a post that is checked, screened and stored.
    private func publish(
        _ draft: PostDraft,
        _ rendered: RenderedPost,
        _ same: CreatePostRequest,
        _ author: UserSummary,
        _ context: CallContext
    ) async throws -> Once<CreatePostReply> {
        try await mutations.once(context, same) { work in
            guard try await PostRepository.show(draft.id, rendered, work.sql) else {
                throw ServiceError.unavailable("The file took too long to store. Send it again.")
            }
            if let upload = draft.upload { try await UploadRepository.use(upload, work.sql) }
            try await rendered.screened.note(work)
            return try await reply(draft, author, work.sql)
        }
    }

    /// The post that is there already.
    private func answer(_ draft: PostDraft, _ same: CreatePostRequest, _ author: UserSummary, _ context: CallContext)
        async throws -> Once<CreatePostReply>
    {
        try await mutations.once(context, same) { work in try await reply(draft, author, work.sql) }
    }

    private func reply(_ draft: PostDraft, _ author: UserSummary, _ sql: Transaction) async throws -> CreatePostReply {
        guard let post = try await PostRepository.find(draft.id, for: draft.user, sql) else {
            throw ServiceError.unavailable("The post has just been removed.")
        }
        return CreatePostReply(post: try views.view(post, by: author, for: draft.user))
    }

    /// Deletes what a refused upload has left, at once: a repeat must not wait for the job.
    private func giveUp(_ draft: PostDraft) async {
        do {
            guard try await posts.giveUp(draft.id, now: SystemClock.now()) else { return }
            for key in try PostBlobKeys(user: draft.user, id: draft.id).all { try await blobs.delete(key) }
            try await posts.delete([draft.id], of: draft.user, now: clock.now())
        } catch {
            logger.warning("a post is given up later", metadata: ["post": "\(draft.id)", "error": "\(error)"])
        }
    }
}

/// Why a post cannot be made under an id.
enum PostRefusal {
    static let idTaken = ServiceError(.alreadyExists, "POST_ID_TAKEN", "Another post has this id.")
    static let removed = ServiceError(.failedPrecondition, "POST_REMOVED", "You have removed this post.")
}

/// Where what is stored of a post lies.
struct PostBlobKeys: Sendable {
    let user: UserID
    let id: PostID
    /// What all keys begin with.
    private let folder: String

    init(user: UserID, id: PostID) {
        (self.user, self.id) = (user, id)
        folder = "posts/\(user)/\(id)/"
    }

    /// As text, for links.
    var displayText: String { folder + "display.jpg" }
    var thumbnailText: String { folder + "thumbnail.jpg" }

    var display: BlobKey { get throws { try BlobKey(displayText) } }
    var thumbnail: BlobKey { get throws { try BlobKey(thumbnailText) } }
    /// Of any post, photo or video.
    var all: [BlobKey] {
        get throws { [try display, try thumbnail] + (try StoredVideoFormat.allCases.map { try video($0) }) }
    }

    func video(_ format: StoredVideoFormat) throws -> BlobKey { try BlobKey("\(folder)video.\(format.rawValue)") }
}

/// A post as it is asked for, with the position that others will see.
struct PostDraft: Sendable {
    var id: PostID
    let user: UserID
    var sha256: String
    /// The presigned upload that it is made from.
    var upload: UploadID?
    let caption: String?
    let position: Coordinate
    let precision: PositionPrecision
    let capturedAt: Instant
    let receivedAt: Instant
    /// Of the position that others see.
    let place: PlaceName?

    /// What the post is found by.
    var words: [String] { Self.words(caption, place) }

    static func words(_ caption: String?, _ place: PlaceName?) -> [String] {
        PlaceText.words([caption, place?.city, place?.country].compactMap(\.self).joined(separator: " "))
    }

    /// - Throws: `VALIDATION_ERROR` naming the position or the caption.
    init(_ request: CreatePostRequest, id: PostID, user: UserID, receivedAt: Instant) throws {
        (self.id, self.user, self.receivedAt) = (id, user, receivedAt)
        sha256 = (request.photo ?? request.video)?.sha256 ?? ""
        caption = try PlaceText.caption(request.caption ?? "", field: "caption")
        precision = request.precision.flatMap(PositionPrecision.init) ?? .exact
        position = precision.position(of: try Coordinate(latitude: request.latitude, longitude: request.longitude))
        place = PlaceNames.known?.name(of: position)
        // A client's clock may be fast.
        capturedAt = min(request.capturedAt ?? receivedAt, receivedAt)
    }
}

extension Coordinate {
    /// The position in a request.
    ///
    /// - Throws: `VALIDATION_ERROR` naming what is missing or out of range.
    init(latitude: Double?, longitude: Double?) throws(ServiceError) {
        let missing = [("latitude", latitude), ("longitude", longitude)].filter { $0.1 == nil }
        guard let latitude, let longitude else {
            throw .validation(missing.map { ServiceError.Detail(field: $0.0, message: "is required") })
        }
        try self.init(latitude: latitude, longitude: longitude, prefix: "")
    }
}
