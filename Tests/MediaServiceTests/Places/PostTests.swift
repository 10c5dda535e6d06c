import BlobStore
import CommonAPI
import Cryptography
import Database
import Foundation
import Images
import Kernel
import MediaAPI
import MediaDomain
import TestSupport
import Testing

@testable import MediaCore
@testable import MediaPlaces
@testable import ServiceRuntime

/// Posting, looking at and removing posts (PL-1).
@Suite(.timeLimit(.minutes(3))) struct PostTests {
    private static let photo = Result { try SamplePhoto(seed: 5, width: 320, height: 240, location: (52.5, 13.4)).jpeg() }

    /// A request with an upload of its own, as the gateway makes it.
    private func request(_ world: PlaceWorld, _ bytes: [UInt8]? = nil, id: PostID? = nil, precision: String? = nil)
        async throws -> CreatePostRequest
    {
        let key = "incoming/\(UUID().uuidString.lowercased())"
        let bytes = try bytes ?? Self.photo.get()
        _ = try await world.blobs.put(try BlobKey(key), bytes)
        let sha256 = SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
        return CreatePostRequest(
            photo: CommonAPI.Blob(key: key, size: UInt64(bytes.count), sha256: sha256),
            postID: id,
            latitude: 52.5163142,
            longitude: 13.3777356,
            caption: "  Evening \n",
            precision: precision
        )
    }

    private func create(_ world: PlaceWorld, _ request: CreatePostRequest, by user: UInt64 = 1, key: String? = nil) async throws
        -> Post
    {
        let incoming = try BlobKey(try #require(request.photo).key)
        let context = PlaceWorld.context(PlaceWorld.user(user), key: key)
        let once = try await world.newPosts.create(request, from: incoming, by: PlaceWorld.user(user), context)
        return try #require(once.reply.post)
    }

    private func blobs(_ world: PlaceWorld) async throws -> [String] {
        try await world.blobs.list(prefix: "posts/", after: nil, limit: 100).map(\.key.description)
    }

    @Test func `a post has its photo in two sizes, its text and its place`() async throws {
        try await PlaceWorld.with { world in
            let request = try await request(world)
            let post = try await create(world, request)
            #expect(post.caption == "Evening" && post.geohash == "u33db2" && post.type == "photo")
            #expect((post.width, post.height) == (320, 240) && post.precision == "exact")
            #expect((post.latitude, post.longitude) == (52.5163142, 13.3777356))
            #expect(post.capturedAt == world.clock.now() && post.postedAt == world.clock.now())
            #expect(post.author?.username == "user1" && post.voteCount == 0 && post.myVote == nil && !post.hidden)
            let keys = try await blobs(world)
            #expect(keys.map { $0.split(separator: "/").last } == ["display.jpg", "thumbnail.jpg"])
            for key in keys { #expect(post.photoURL.contains(key) || post.thumbnailURL.contains(key)) }
            #expect(try await world.find(post.id, for: nil)?.id == post.id, "guests see it")
        }
    }

    @Test(arguments: ["100m", "1km"]) func `of a coarse position nothing finer is kept`(precision: String) async throws {
        try await PlaceWorld.with { world in
            let post = try await create(world, try await request(world, precision: precision))
            let rule = try #require(PositionPrecision(rawValue: precision))
            let seen = rule.position(of: try Coordinate(latitude: 52.5163142, longitude: 13.3777356))
            #expect((post.latitude, post.longitude) == (seen.latitude, seen.longitude) && post.precision == precision)
            #expect(post.geohash == Geohash(seen, length: 6).description)
            let row = try await world.database.query("SELECT to_jsonb(p)::text FROM place_post p").first?.decode(as: String.self)
            let text = try #require(row)
            #expect(!text.contains("52.51631") && !text.contains("13.37773"), "\(text)")
            let key = try await world.database.query("SELECT place_key FROM place_post").first?.decode(as: Int64.self)
            #expect(key == PlaceKey(seen).value)
        }
    }

    @Test func `the same post sent sixteen times at once is posted once`() async throws {
        try await PlaceWorld.with { world in
            let posts = try await withThrowingTaskGroup(of: Post.self) { group in
                for number in 0..<16 {
                    let request = try await request(world, id: PlaceWorld.post(1))
                    group.addTask { try await create(world, request, key: "key \(number)") }
                }
                return try await group.reduce(into: [Post]()) { $0.append($1) }
            }
            #expect(Set(posts.map(\.id)) == [PlaceWorld.post(1)] && Set(posts.map(\.photoURL)).count == 1)
            #expect(try await world.count("place_post") == 1)
            #expect(try await blobs(world).count == 2)
        }
    }

    @Test func `a repeat finds its post days later, and one that was removed stays removed`() async throws {
        try await PlaceWorld.with { world in
            let first = try await create(world, try await request(world, id: PlaceWorld.post(1)), key: "a")
            world.clock.advance(by: .days(9))
            try await world.mutations.purge(now: world.clock.now())
            let again = try await create(world, try await request(world, id: PlaceWorld.post(1)), key: "a")
            #expect(again.id == first.id && again.postedAt == first.postedAt)
            let bare = try await create(world, try await request(world, id: PlaceWorld.post(1)))
            #expect(bare.id == first.id)
            try await world.remove(first.id)
            for step in ["removed", "deleted"] {
                let repeated = try await request(world, id: PlaceWorld.post(1))
                let error = await #expect(throws: ServiceError.self, "\(step)") { try await create(world, repeated) }
                #expect(error?.reason == "POST_REMOVED")
                _ = try await world.removal.job.run(world.clock.now())
            }
            #expect(try await world.count("place_post") == 0)
        }
    }

    @Test func `a post beyond the quota is refused with nothing stored, its repeat is not, and a removed one makes room`()
        async throws
    {
        try await PlaceWorld.with(quotas: Quotas(["place_post": 1])) { world in
            let first = try await create(world, try await request(world, id: PlaceWorld.post(1)))
            let more = try await request(world)
            let error = await #expect(throws: ServiceError.self) { try await create(world, more) }
            #expect(error?.reason == "QUOTA_EXCEEDED" && error?.message.contains("1 posts") == true)
            #expect(try await blobs(world).count == 2)
            #expect(try await world.count("place_post") == 1)
            #expect(try await create(world, try await request(world, id: PlaceWorld.post(1))).id == first.id)
            _ = try await create(world, try await request(world), by: 2)
            try await world.remove(first.id)
            #expect(try await world.removal.job.run(world.clock.now()) == 1)
            _ = try await create(world, try await request(world))
        }
    }

    @Test func `what the files of posts take has a quota too, which counts them as they are stored`() async throws {
        try await PlaceWorld.with(quotas: Quotas(["place_post.file_bytes": 5])) { world in
            let first = try await create(world, try await request(world))
            var stored: Int64 = 0
            for key in try await blobs(world) { stored += try await world.blobs.info(of: try BlobKey(key))?.size ?? 0 }
            let noted: Query = "SELECT sum(file_bytes)::bigint FROM place_post"
            #expect(try await world.database.query(noted).first?.get(at: 0) == stored && stored > 0)
            // 3 MB and a little are left: a picture may take 2.
            try await world.database.execute("UPDATE place_post SET file_bytes = 2000000")
            _ = try await create(world, try await request(world))
            try await world.database.execute("UPDATE place_post SET file_bytes = 2000000")
            let more = try await request(world)
            let error = await #expect(throws: ServiceError.self) { try await create(world, more) }
            #expect(error?.reason == "QUOTA_EXCEEDED")
            #expect(error?.message.hasPrefix("You have 5 MB of photos and videos of posts, as many as one account") == true)
            #expect(try await world.count("place_post") == 2)
            _ = try await create(world, try await request(world), by: 2)
            try await world.remove(first.id)
            #expect(try await world.removal.job.run(world.clock.now()) == 1)
            _ = try await create(world, try await request(world))
        }
    }

    @Test func `an Idempotency-Key without an id posts once`() async throws {
        try await PlaceWorld.with { world in
            let first = try await create(world, try await request(world), key: "one")
            let second = try await create(world, try await request(world), key: "one")
            #expect(first == second)
            let third = try await create(world, try await request(world), key: "two")
            #expect(third.id != first.id)
            #expect(try await world.count("place_post") == 2)
            #expect(try await blobs(world).count == 4)
        }
    }

    @Test func `an id stands for one photo of one author`() async throws {
        try await PlaceWorld.with { world in
            _ = try await create(world, try await request(world, id: PlaceWorld.post(1)))
            let other = try await request(world, try SamplePhoto(seed: 6, width: 64, height: 48).jpeg(), id: PlaceWorld.post(1))
            let error = await #expect(throws: ServiceError.self) { try await create(world, other) }
            #expect(error?.reason == "POST_ID_TAKEN" && error?.code == .alreadyExists)
            let same = try await request(world, id: PlaceWorld.post(1))
            let stranger = await #expect(throws: ServiceError.self) { try await create(world, same, by: 2) }
            #expect(stranger?.reason == "POST_ID_TAKEN")
        }
    }

    @Test func `of what is refused nothing is left, and it may be sent again`() async throws {
        try await PlaceWorld.with { world in
            let broken = try await request(world, Array("no photo".utf8), id: PlaceWorld.post(1))
            let error = await #expect(throws: ServiceError.self) { try await create(world, broken) }
            #expect(error?.reason == "UNSUPPORTED_IMAGE_TYPE")
            #expect(try await world.count("place_post") == 0)
            #expect(try await blobs(world).isEmpty)
            #expect(try await create(world, try await request(world, id: PlaceWorld.post(1))).id == PlaceWorld.post(1))
        }
    }

    @Test func `a position that is missing or nowhere is named`() async throws {
        try await PlaceWorld.with { world in
            var request = try await request(world)
            for (latitude, longitude, fields) in [
                (nil, nil, ["latitude", "longitude"]), (91, 0, ["latitude"]), (0, -181, ["longitude"]),
                (.nan, .infinity, ["latitude", "longitude"]),
            ] as [(Double?, Double?, [String])] {
                (request.latitude, request.longitude) = (latitude, longitude)
                let asked = request
                let error = await #expect(throws: ServiceError.self) { try await create(world, asked) }
                #expect(error?.reason == "VALIDATION_ERROR" && error?.details.map(\.field) == fields)
            }
            #expect(try await world.count("place_post") == 0)
        }
    }

    @Test func `what a maker that died has left is deleted, and the post can be made`() async throws {
        try await PlaceWorld.with { world in
            let request = try await request(world, id: PlaceWorld.post(1))
            let user = PlaceWorld.user(1)
            let draft = try PostDraft(request, id: PlaceWorld.post(1), user: user, receivedAt: world.clock.now())
            try #require(try await world.posts.claim(draft, until: SystemClock.now() - .seconds(1)))
            _ = try await world.blobs.put(try PostBlobKeys(user: user, id: draft.id).display, [1])
            let made = Task { try await create(world, request) }
            try await eventually("it is given up") { try await world.posts.stored(draft.id)?.standing == .givenUp }
            #expect(try await world.removal.job.run(world.clock.now()) == 1)
            #expect(try await made.value.width == 320)
            #expect(try await world.removal.job.run(world.clock.now()) == 0)
            #expect(try await blobs(world).count == 2)
        }
    }

    @Test func `removing a post removes its photo and its votes, and is its author's right only`() async throws {
        try await PlaceWorld.with { world in
            let post = try await create(world, try await request(world))
            for voter in UInt64(2)...5 { try await world.vote(.up, on: post.id, by: voter) }
            let error = await #expect(throws: ServiceError.self) { try await world.remove(post.id, by: 2) }
            #expect(error?.code == .notFound)
            try await world.remove(post.id)
            #expect(try await world.find(post.id, for: 1) == nil)
            #expect(try await world.all(ListPostsRequest(mine: true), for: 1).isEmpty)
            let again = await #expect(throws: ServiceError.self) { try await world.remove(post.id) }
            #expect(again?.code == .notFound)
            #expect(try await world.removal.job.run(world.clock.now()) == 1)
            try await world.countVotes()
            for table in ["place_post", "place_vote", "place_vote_tally", "place_past_score"] as [Query] {
                #expect(try await world.count(table) == 0, "\(table.text)")
            }
            #expect(try await blobs(world).isEmpty)
            // Its id is kept for 30 days of the product's clock.
            let ids = RemovedPostIDs(posts: world.posts).job
            world.clock.advance(by: .days(30))
            #expect(try await ids.run(world.clock.now()) == 0)
            world.clock.advance(by: .seconds(1))
            #expect(try await ids.run(world.clock.now()) == 1)
        }
    }

    @Test func `a purged account leaves no post, no vote and no city, and its votes are subtracted`() async throws {
        try await PlaceWorld.with { world in
            let mine = try await world.pin(1, by: 1, at: 1, 1)
            let other = try await world.pin(2, by: 2, at: 1, 1)
            for voter in UInt64(3)...6 { for post in [mine, other] { try await world.vote(.up, on: post, by: voter) } }
            try await world.vote(.down, on: other, by: 1)
            try await world.countVotes()
            try await world.vote(.up, on: other, by: 1)
            #expect(try await world.find(other)?.up == 5)
            try await world.mutations.work.run(PlaceWorld.context(nil)) { work in
                try await PersonalDataEraser(PersonalData.places.tables, [PersonalData.placeSteps]).erase(
                    PlaceWorld.user(1),
                    work
                )
            }
            #expect(try await world.find(other).map { [$0.up, $0.down] } == [4, 0])
            try await world.countVotes()
            #expect(try await world.find(other).map { [$0.up, $0.down] } == [4, 0])
            #expect(try await world.find(mine) == nil)
            #expect(try await world.count("place_vote") == 4)
            #expect(try await world.count("place_vote_tally") == 0)
        }
    }
}
