import Foundation
import TestSupport
import Testing

/// The whole system with its photos in a bucket (D4, PH-2).
@Suite(.timeLimit(.minutes(10)))
struct BucketTests {
    private static let bucket = "streaksnap-photos"

    /// Keys of all objects.
    private func keys(_ server: S3Server) async throws -> [String] { try await server.keys(in: Self.bucket) }

    @Test(arguments: [["--dev-clock"], ["--dev-clock", "--separate"]])
    func `photos go into the bucket, come out of it by link, and leave it with their owner`(options: [String]) async throws {
        let server = try await S3Server.start(buckets: [Self.bucket])
        let home = try await Installation(options, environment: settings(server))
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        let streak = try await ada.befriend(ben)
        // Large enough to be spooled.
        let photo = try Photos.jpeg(91, width: 3_000, height: 2_000)
        try #require(photo.count > 200_000)
        #expect(try await ada.upload(photo, caption: "into the bucket").status == 201)
        #expect(try await ben.upload(try Photos.jpeg(92)).data["streaks"][0]["current_count"].int == 1)

        let item = try await ben.get("/api/photos/feed").data["items"][0]
        #expect(item["streak_id"].string == streak, "\(item)")
        let url = try #require(item["friend_snap"]["photo_url"].string.flatMap { URL(string: $0) })
        let link = url.path + "?" + (url.query ?? "")
        let seen = try await home.http.send("GET", link)
        #expect(seen.status == 200)
        let size = try #require(Photos.size(ofJPEG: seen.body))
        #expect(size.width == 2_048 && size.height == 1_365)
        #expect(Photos.metadata(in: seen.body) == [])
        let middle = try await home.http.send("GET", link, headers: [("Range", "bytes=1000-1999")])
        #expect(middle.status == 206 && middle.body == Array(seen.body[1_000..<2_000]))

        let stored = try await keys(server)
        #expect(stored.filter { $0.contains(ada.id) }.count == 2, "\(stored)")
        #expect(!stored.contains { $0.contains("/incoming/") }, "\(stored)")
        #expect(stored.allSatisfy { $0.hasPrefix("trial/snaps/") })
        #expect(Files.all(below: home.data.appending(path: "blobs")).isEmpty, "nothing goes into the folder")

        #expect(try await ada.delete().status == 200)
        try await eventually("the link is dead") { try await home.http.send("GET", link).status == 404 }
        #expect(
            try await keys(server).filter { $0.contains(ada.id) }.count == 3,
            "kept, with a marker, until the account is purged"
        )
        try await home.travel(days: 31)
        try await eventually("nothing of the owner is left in the bucket") {
            try await keys(server).filter { $0.contains(ada.id) }.isEmpty
        }
        #expect(try await keys(server).filter { $0.contains(ben.id) }.count == 2)
        #expect(!home.logs.contains(server.secret))
        await home.guardian.end()
        await server.kill()
    }

    @Test func `while the store is away nothing else is, and it is used again when it is back`() async throws {
        let server = try await S3Server.start(buckets: [Self.bucket])
        let home = try await Installation(environment: settings(server))
        let (ada, ben) = (try await Person.register("ada", at: home), try await Person.register("ben", at: home))
        try await ada.befriend(ben)
        await server.kill()
        let refused = try await ada.upload(try Photos.jpeg(93), key: "once")
        #expect(refused.status == 503 && refused.code == "STORAGE_UNAVAILABLE", "\(refused.text)")
        #expect(try await ada.get("/api/streaks").status == 200)
        try await server.start()
        let repeated = try await ada.upload(try Photos.jpeg(93), key: "once")
        #expect(repeated.status == 201, "\(repeated.text)")
        await home.guardian.end()
        await server.kill()
    }

    @Test func `wrong credentials end the start and name the settings`() async throws {
        let server = try await S3Server.start(buckets: [Self.bucket])
        var wrong = settings(server)
        wrong["STREAKSNAP_BLOB_S3_SECRET"] = "not-the-secret"
        do {
            _ = try await Installation(environment: wrong)
            Issue.record("it started")
        } catch let failure as Guardian.Failure {
            #expect(failure.description.contains("--blob-s3-secret"), "\(failure.description)")
            #expect(!failure.description.contains("not-the-secret"))
        }
        await server.kill()
    }

    private func settings(_ server: S3Server) -> [String: String] {
        [
            "STREAKSNAP_BLOB_STORE": "s3", "STREAKSNAP_BLOB_S3_ENDPOINT": server.endpoint,
            "STREAKSNAP_BLOB_S3_REGION": "us-east-1",
            "STREAKSNAP_BLOB_S3_BUCKET": Self.bucket, "STREAKSNAP_BLOB_S3_PREFIX": "trial",
            "STREAKSNAP_BLOB_S3_PATH_STYLE": "true", "STREAKSNAP_BLOB_S3_KEY_ID": server.key,
            "STREAKSNAP_BLOB_S3_SECRET": server.secret,
        ]
    }
}
