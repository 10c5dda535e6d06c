import BlobStore
import CommonAPI
import Cryptography
import Database
import Foundation
import Images
import Kernel
import MediaAPI
import TestSupport
import Testing

@testable import MediaPlaces
@testable import ServiceRuntime

/// Posting videos, and files that are sent by presigned links (PL-1).
@Suite(.timeLimit(.minutes(10))) struct VideoPostTests {
    private static let video = Task { try await SampleVideo(turnedBy: 90).bytes() }
    private static let photo = Result { try SamplePhoto(seed: 9, width: 320, height: 240, location: (52.5, 13.4)).jpeg() }

    private func hex(_ bytes: [UInt8]) -> String { SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined() }

    private func request(_ world: PlaceWorld, video bytes: [UInt8], id: PostID? = nil) async throws -> CreatePostRequest {
        let key = "incoming/\(UUID().uuidString.lowercased())"
        _ = try await world.blobs.put(try BlobKey(key), bytes)
        let blob = CommonAPI.Blob(key: key, size: UInt64(bytes.count), sha256: hex(bytes))
        return CreatePostRequest(postID: id, latitude: 52.5, longitude: 13.4, video: blob)
    }

    private func create(_ world: PlaceWorld, _ request: CreatePostRequest, key: String? = nil) async throws -> Post {
        let incoming = try BlobKey(try #require(request.photo ?? request.video).key)
        let context = PlaceWorld.context(PlaceWorld.user(1), key: key)
        return try #require(try await world.newPosts.create(request, from: incoming, by: PlaceWorld.user(1), context).reply.post)
    }

    private func announce(
        _ world: PlaceWorld,
        _ bytes: [UInt8],
        type: String,
        id: PostID? = nil,
        by user: UInt64 = 1,
        key: String? = nil
    ) async throws -> PresignPostReply {
        let request = PresignPostRequest(size: Int64(bytes.count), type: type, sha256: hex(bytes), postID: id)
        let context = PlaceWorld.context(PlaceWorld.user(user), key: key)
        return try await world.uploads.announce(request, by: PlaceWorld.user(user), context).reply
    }

    /// As the gateway stores it.
    private func send(_ world: PlaceWorld, _ bytes: [UInt8], of upload: UploadID, by user: UInt64 = 1) async throws {
        _ = try await world.blobs.put(try AnnouncedUpload.key(user: PlaceWorld.user(user), id: upload), bytes)
    }

    private func confirm(
        _ world: PlaceWorld,
        _ upload: UploadID,
        id: PostID? = nil,
        latitude: Double = 52.5,
        by user: UInt64 = 1,
        key: String? = nil
    ) async throws -> Post {
        let request = CreatePostRequest(postID: id, latitude: latitude, longitude: 13.4, uploadID: upload)
        let context = PlaceWorld.context(PlaceWorld.user(user), key: key)
        return try #require(try await world.newPosts.create(request, of: upload, by: PlaceWorld.user(user), context).reply.post)
    }

    private func refusal<Result>(_ body: () async throws -> Result) async -> String? {
        do {
            _ = try await body()
            return nil
        } catch { return (error as? ServiceError)?.reason ?? "\(error)" }
    }

    private func keys(_ world: PlaceWorld, _ prefix: String) async throws -> [String] {
        try await world.blobs.list(prefix: prefix, after: nil, limit: 100).map {
            String($0.key.description.split(separator: "/").last ?? "")
        }
    }

    @Test func `a video has its file, a poster and a length, and goes with its post`() async throws {
        let bytes = try await Self.video.value
        try await PlaceWorld.with { world in
            let post = try await create(world, try await request(world, video: bytes, id: PlaceWorld.post(1)))
            #expect(post.type == "video" && (1_900...2_200).contains(post.durationMs ?? 0))
            #expect((post.width, post.height) == (120, 160), "upright")
            #expect(post.posterURL == post.photoURL && post.posterURL?.contains("/display.jpg?") == true)
            #expect(post.videoURL?.contains("/\(post.id)/video.mp4?") == true)
            #expect(try await keys(world, "posts/") == ["display.jpg", "thumbnail.jpg", "video.mp4"])
            let stored = try await world.blobs.read(
                try PostBlobKeys(user: PlaceWorld.user(1), id: post.id).video(.mp4),
                limit: 1 << 20
            )
            #expect(
                stored.firstRange(of: Array(SampleVideo.secret.utf8)) == nil && stored.firstRange(of: Array("ftyp".utf8)) != nil
            )
            #expect(try await world.find(post.id)?.videoURL?.contains("for=") == true, "made for its reader")
            let listed = try await world.list(ListPostsRequest()).posts
            #expect(listed.map(\.durationMs) == [post.durationMs])
            let again = try await create(world, try await request(world, video: bytes, id: PlaceWorld.post(1)))
            #expect(again == post)
            let photo = CreatePostRequest(
                photo: CommonAPI.Blob(key: "incoming/x", sha256: "1"),
                postID: post.id,
                latitude: 1,
                longitude: 1
            )
            #expect(await refusal { try await create(world, photo) } == "POST_ID_TAKEN")
            try await world.remove(post.id)
            _ = try await world.removal.job.run(world.clock.now())
            #expect(try await keys(world, "posts/").isEmpty)
            try await eventually("nothing is left in the working folder") {
                try FileManager.default.contentsOfDirectory(atPath: world.videoFolder.path).isEmpty
            }
        }
    }

    @Test func `a presigned upload is announced, sent and confirmed, once`() async throws {
        let bytes = try await Self.video.value
        try await PlaceWorld.with { world in
            let upload = try await announce(world, bytes, type: "video/mp4", key: "a")
            #expect(try await announce(world, bytes, type: "video/mp4", key: "a") == upload, "a repeat gets the same")
            #expect(upload.expiresAt == world.clock.now() + .hours(1))
            #expect(upload.headers.map(\.name) == ["content-length", "content-type", "content-digest"])
            #expect(upload.headers.map(\.value).prefix(2) == ["\(bytes.count)", "video/mp4"])
            #expect(upload.url.hasPrefix("/uploads/\(PlaceWorld.user(1))/\(upload.uploadID)?"))
            #expect(await refusal { try await confirm(world, upload.uploadID) } == "UPLOAD_INCOMPLETE")
            #expect(try await world.count("place_post") == 0)
            try await send(world, bytes, of: upload.uploadID)
            #expect(await refusal { try await confirm(world, upload.uploadID, latitude: 91) } == "VALIDATION_ERROR")
            let posts = try await withThrowingTaskGroup(of: Post.self) { group in
                for number in 0..<4 {
                    group.addTask { try await confirm(world, upload.uploadID, key: "confirm \(number)") }
                }
                return try await group.reduce(into: [Post]()) { $0.append($1) }
            }
            #expect(Set(posts.map(\.id)).count == 1 && posts.allSatisfy { $0.type == "video" })
            #expect(try await world.count("place_post") == 1)
            #expect(try await keys(world, "uploads/").isEmpty, "the file is moved on")
            let other = PlaceWorld.post(77)
            #expect(await refusal { try await confirm(world, upload.uploadID, id: other) } == "UPLOAD_USED")
            // A day later its row is gone, and a repeat still finds the post.
            world.clock.advance(by: .hours(24))
            #expect(try await UnusedUploads(uploads: world.uploads.uploads, blobs: world.blobs).job.run(world.clock.now()) == 1)
            #expect(try await world.count("place_upload") == 0)
            #expect(try await confirm(world, upload.uploadID).id == posts[0].id)
            #expect(await refusal { try await confirm(world, upload.uploadID, id: other) } == "UPLOAD_USED")
        }
    }

    @Test func `a post id of the client's holds for a presigned upload as for a form`() async throws {
        let bytes = try Self.photo.get()
        try await PlaceWorld.with { world in
            let (id, other) = (PlaceWorld.post(1), PlaceWorld.post(2))
            let upload = try await announce(world, bytes, type: "image/jpeg", id: id)
            try await send(world, bytes, of: upload.uploadID)
            #expect(await refusal { try await confirm(world, upload.uploadID, id: other) } == "UPLOAD_USED")
            let post = try await confirm(world, upload.uploadID)
            #expect(post.id == id && post.type == "photo" && post.videoURL == nil && post.durationMs == nil)
            let second = try await announce(world, bytes, type: "image/jpeg", id: id)
            #expect(try await confirm(world, second.uploadID) == post, "the same file: the same post, and it need not be sent")
            let third = try await announce(world, bytes + [0], type: "image/jpeg")
            #expect(await refusal { try await confirm(world, third.uploadID, id: id) } == "POST_ID_TAKEN")
            try await world.remove(id)
            #expect(await refusal { try await confirm(world, upload.uploadID) } == "POST_REMOVED")
        }
    }

    @Test func `another user's upload is not found`() async throws {
        let bytes = try Self.photo.get()
        try await PlaceWorld.with { world in
            let upload = try await announce(world, bytes, type: "image/jpeg")
            try await send(world, bytes, of: upload.uploadID)
            #expect(await refusal { try await confirm(world, upload.uploadID, by: 2) } == "NOT_FOUND")
            #expect(await refusal { try await confirm(world, UploadID(high: 5, low: 5)) } == "NOT_FOUND")
            let post = try await confirm(world, upload.uploadID)
            #expect(await refusal { try await confirm(world, upload.uploadID, by: 2) } == "NOT_FOUND")
            try await world.database.execute("DELETE FROM place_upload")
            #expect(await refusal { try await confirm(world, upload.uploadID, by: 2) } == "NOT_FOUND")
            #expect(try await confirm(world, upload.uploadID) == post)
        }
    }

    @Test func `a file that is not the announced one is refused, and nothing is left`() async throws {
        let (photo, video) = (try Self.photo.get(), try await Self.video.value)
        try await PlaceWorld.with { world in
            let wrong: [(announced: [UInt8], type: String, sent: [UInt8], reason: String)] = [
                (photo, "image/jpeg", Array(photo.dropLast()), "UPLOAD_MISMATCH"),
                (photo, "image/jpeg", Array(photo.dropLast()) + [0x55], "UPLOAD_MISMATCH"),
                (photo, "image/png", photo, "UPLOAD_MISMATCH"), (video, "video/webm", video, "UPLOAD_MISMATCH"),
                (video, "video/mp4", Array(video.dropLast()) + [0x55], "UPLOAD_MISMATCH"),
                (photo, "video/mp4", photo, "UPLOAD_MISMATCH"),
                (Array(video.prefix(9_000)), "video/mp4", Array(video.prefix(9_000)), "VIDEO_UNDECODABLE"),
                (Array(photo.prefix(900)), "image/jpeg", Array(photo.prefix(900)), "IMAGE_UNDECODABLE"),
            ]
            for (announced, type, sent, reason) in wrong {
                let upload = try await announce(world, announced, type: type)
                try await send(world, sent, of: upload.uploadID)
                #expect(await refusal { try await confirm(world, upload.uploadID) } == reason)
                #expect(await refusal { try await confirm(world, upload.uploadID) } == "NOT_FOUND")
                for table: Query in ["place_post", "place_upload", "place_removed_post"] {
                    #expect(try await world.count(table) == 0)
                }
                #expect(try await keys(world, "").isEmpty, "\(type) \(reason)")
            }
            for (size, type) in [(Int64(10 << 20) + 1, "image/jpeg"), (Int64(100 << 20) + 1, "video/mp4")] {
                let request = PresignPostRequest(size: size, type: type, sha256: hex(photo))
                let context = PlaceWorld.context(PlaceWorld.user(1))
                #expect(
                    await refusal { try await world.uploads.announce(request, by: PlaceWorld.user(1), context) }
                        == "VALIDATION_ERROR"
                )
            }
            let text = PresignPostRequest(size: 5, type: "image/jpeg", sha256: String(repeating: "G", count: 64))
            let context = PlaceWorld.context(PlaceWorld.user(1))
            #expect(
                await refusal { try await world.uploads.announce(text, by: PlaceWorld.user(1), context) } == "VALIDATION_ERROR"
            )
            let both = PresignPostRequest(size: 100 << 20, type: "image/jpeg", sha256: "no hash")
            let error = #expect(throws: ServiceError.self) { try PresignedUploads.file(both) }
            #expect(error?.details.map(\.field) == ["size", "sha256"])
        }
    }

    @Test func `ten uploads may wait, and unused ones are deleted after a day of the product's clock`() async throws {
        let bytes = try Self.photo.get()
        try await PlaceWorld.with { world in
            let job = UnusedUploads(uploads: world.uploads.uploads, blobs: world.blobs).job
            let results = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<14 {
                    group.addTask { (try? await announce(world, bytes, type: "image/jpeg", key: "\(number)")) != nil }
                }
                return await group.reduce(into: [Bool]()) { $0.append($1) }
            }
            #expect(results.count { $0 } == 10, "also when all are announced at once")
            #expect(await refusal { try await announce(world, bytes, type: "image/jpeg") } == "TOO_MANY_UPLOADS")
            _ = try await announce(world, bytes, type: "image/jpeg", by: 2)
            for row in try await world.database.query("SELECT id FROM place_upload WHERE user_id = \(PlaceWorld.user(1))") {
                try await send(world, bytes, of: try row.decode(as: UploadID.self))
            }
            world.clock.advance(by: .hours(24) - .seconds(1))
            #expect(try await job.run(world.clock.now()) == 0, "not before a day is over")
            #expect(await refusal { try await announce(world, bytes, type: "image/jpeg") } == "TOO_MANY_UPLOADS")
            world.clock.advance(by: .seconds(1))
            // The limit does not wait for the job.
            let next = try await announce(world, bytes, type: "image/jpeg")
            #expect(try await job.run(world.clock.now()) == 11)
            let kept = try await world.database.query("SELECT id FROM place_upload").map { try $0.decode(as: UploadID.self) }
            #expect(kept == [next.uploadID])
            world.clock.advance(by: .hours(24))
            #expect(try await job.run(world.clock.now()) == 1)
            #expect(try await world.count("place_upload") == 0)
            #expect(try await keys(world, "uploads/").isEmpty)
            // A file that is sent once more, without a row.
            try await send(world, bytes, of: UploadID(high: 1, low: 1))
            try await send(world, bytes, of: UploadID(high: 1, low: 2))
            let old = world.folder.appending(
                path: try AnnouncedUpload.key(user: PlaceWorld.user(1), id: UploadID(high: 1, low: 1)).description
            )
            let times: [FileAttributeKey: Any] = [.modificationDate: Date(timeIntervalSinceNow: -27 * 3_600)]
            try FileManager.default.setAttributes(times, ofItemAtPath: old.path)
            #expect(try await StrayUploads(blobs: world.blobs).job.run(world.clock.now()) == 1)
            #expect(try await keys(world, "uploads/") == ["\(UploadID(high: 1, low: 2))"])
        }
    }
}
