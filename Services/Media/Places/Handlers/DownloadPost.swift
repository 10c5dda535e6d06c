internal import BlobStore
internal import Bus
internal import Kernel
internal import MediaAPI
internal import MediaDomain

/// The rendition of a post with time and position in Exif (PL-6). It has no more than every reader of the post may know: the exact position
/// of a coarse post is not kept, so that its author's own download is the same.
struct DownloadPost: QueryHandler {
    private static let mostBytes: Int64 = 6 << 20

    let posts: PostRepository
    let blobs: any BlobStore

    func handle(_ request: DownloadPostRequest, _ context: CallContext) async throws -> DownloadPostReply {
        guard let post = try await posts.find(request.postID, for: context.reader) else {
            throw ServiceError.notFound("post")
        }
        guard post.video == nil else {
            throw ServiceError(.failedPrecondition, "NOT_A_PHOTO", "A video is downloaded from its video_url.")
        }
        let photo: [UInt8]
        do {
            photo = try await blobs.read(try PostBlobKeys(user: post.user, id: post.id).display, limit: Self.mostBytes)
        } catch let error as ServiceError where error.code == .notFound {
            // Removed just now.
            throw ServiceError.notFound("post")
        }
        let (time, position) = (ExifTime(post.capturedAt), ExifPosition(post.position))
        guard let file = ExifBlock.written(into: photo, time: time, position: position) else { throw ServiceError.internal }
        return DownloadPostReply(photo: file)
    }
}
