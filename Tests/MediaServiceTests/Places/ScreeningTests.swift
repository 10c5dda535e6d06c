import BlobStore
import CommonAPI
import Cryptography
import Database
import Foundation
import Images
import Kernel
import MediaAPI
import MediaDomain
import OutgoingHTTP
import TestSupport
import Testing

@testable import MediaCore
@testable import MediaPlaces
@testable import ServiceRuntime

/// Pictures are shown to a moderator before they are published (PL-5).
@Suite(.timeLimit(.minutes(3))) struct ScreeningTests {
    private static let photo = Result { try SamplePhoto(seed: 6, width: 320, height: 240, location: (52.5, 13.4)).jpeg() }

    private func moderator(_ url: String, secret: String = RekognitionServer.secret, timeout: Interval = .minutes(1)) throws
        -> PictureModerator
    {
        PictureModerator(
            address: try #require(ModeratorAddress(url)),
            timeout: timeout,
            signer: SigV4(
                credentials: SigV4.Credentials(keyID: RekognitionServer.keyID, secret: secret),
                region: RekognitionServer.region,
                service: "rekognition"
            ),
            http: OutgoingHTTP(allowsPlain: true),
            logger: PostgresServer.silence
        )
    }

    private func post(_ world: PlaceWorld, _ number: UInt64, _ moderator: PictureModerator?) async throws -> Post {
        let key = "incoming/\(UUID().uuidString.lowercased())"
        let bytes = try Self.photo.get()
        _ = try await world.blobs.put(try BlobKey(key), bytes)
        let sha256 = SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
        let request = CreatePostRequest(
            photo: CommonAPI.Blob(key: key, size: UInt64(bytes.count), sha256: sha256),
            postID: PlaceWorld.post(number),
            latitude: 1,
            longitude: 1
        )
        let (user, context) = (PlaceWorld.user(1), PlaceWorld.context(PlaceWorld.user(1)))
        let once = try await world.screened(by: moderator).create(request, from: try BlobKey(key), by: user, context)
        return try #require(once.reply.post)
    }

    /// The events since the last call.
    private func events(_ world: PlaceWorld) async throws -> [PostScreened] {
        try await world.database.query(
            "WITH emitted AS (DELETE FROM outbox RETURNING position, subject, body) SELECT subject, body FROM emitted ORDER BY position"
        ).map { row in
            let (subject, body) = try row.decode(as: (String.self, [UInt8].self))
            try #require(subject == PostScreened.subject)
            return try PostScreened(serialized: body)
        }
    }

    @Test func `a picture of a blocked category is refused, audited, and nothing of it is kept`() async throws {
        let server = try await RekognitionServer()
        try server.find("Exposed Male Genitalia", of: "Explicit", 75)
        try await PlaceWorld.with { world in
            let error = await #expect(throws: ServiceError.self) { _ = try await post(world, 1, try moderator(server.url)) }
            #expect(error?.reason == "CONTENT_REJECTED")
            #expect(try await world.find(PlaceWorld.post(1), for: 1) == nil)
            #expect(try await world.count("place_post") == 0)
            #expect(try await world.blobs.list(prefix: "posts/", after: nil, limit: 10).isEmpty)
            let event = try #require(try await events(world).first)
            #expect(event.outcome == .rejected && event.userID == PlaceWorld.user(1) && event.postID == PlaceWorld.post(1))
            #expect(event.labels.map(\.name) == ["Exposed Male Genitalia"] && event.labels.map(\.confidence) == [75])
            // The id is free for another picture.
            try server.behave("{}")
            #expect(try await post(world, 1, try moderator(server.url)).id == PlaceWorld.post(1))
            #expect(try await events(world).isEmpty, "a harmless picture is no news")
        }
        #expect(try server.requests.map(\.refusal) == [nil, nil], "as AWS documents it")
    }

    @Test func `a picture that may be of one is published and reviewed`() async throws {
        let server = try await RekognitionServer()
        try server.find("Alcohol", 74.9)
        try await PlaceWorld.with { world in
            let id = try await post(world, 1, try moderator(server.url)).id
            #expect(try await world.find(id)?.id == id)
            let event = try #require(try await events(world).first)
            #expect(event.outcome == .doubtful && event.postID == id && event.labels.map(\.name) == ["Alcohol"])
        }
    }

    @Test(arguments: [
        #"{"status":400,"type":"ThrottlingException"}"#, #"{"status":400,"type":"ProvisionedThroughputExceededException"}"#,
        #"{"status":500,"type":"InternalServerError"}"#, #"{"status":403,"type":"AccessDeniedException"}"#,
        #"{"malformed":true}"#,
    ]) func `without an answer it is published and reviewed`(behaviour: String) async throws {
        let server = try await RekognitionServer()
        try server.behave(behaviour)
        try await PlaceWorld.with { world in
            let id = try await post(world, 1, try moderator(server.url)).id
            #expect(try await world.find(id)?.id == id)
            let event = try #require(try await events(world).first)
            #expect(event.outcome == .unreachable && event.labels.isEmpty)
        }
        #expect(try server.requests.count == 1)
    }

    @Test func `a moderator that is silent, gone or does not know the key does not hold a post up`() async throws {
        let server = try await RekognitionServer()
        try await PlaceWorld.with { world in
            try server.behave(#"{"hang":30}"#)
            _ = try await post(world, 1, try moderator(server.url, timeout: .milliseconds(200)))
            try server.behave("{}")
            _ = try await post(world, 2, try moderator(server.url, secret: "another"))
            await server.kill()
            _ = try await post(world, 3, try moderator(server.url))
            #expect(try await events(world).map(\.outcome) == [.unreachable, .unreachable, .unreachable])
            #expect(try await world.all(ListPostsRequest(mine: true), for: 1).count == 3)
        }
        #expect(PictureModerator.standardTimeout == .seconds(5))
        #expect(try server.requests.map(\.refusal).contains("InvalidSignatureException"))
    }

    @Test func `a picture above 5 MB is not sent`() async throws {
        let server = try await RekognitionServer()
        let moderator = try moderator(server.url)
        guard case .unreachable = try await moderator.labels(of: [UInt8](repeating: 1, count: (5 << 20) + 1)) else {
            Issue.record("it was sent")
            return
        }
        #expect(try server.requests.isEmpty)
    }

    @Test func `hostile replies are none`() {
        let flood = "{\"ModerationLabels\":[" + (0..<30_000).map { _ in "{}" }.joined(separator: ",") + "]}"
        for text in [
            "", "[]", "{}", "null", #"{"ModerationLabels":{}}"#, #"{"ModerationLabels":[1]}"#, flood,
            "{\"ModerationLabels\":[]} x",
        ] {
            #expect(ModeratorReply.labels(Array(text.utf8)) == nil, "\(text.prefix(40))")
        }
        #expect(ModeratorReply.labels(Array(#"{"ModerationLabels":[{"Name":"A","ParentName":null}]}"#.utf8))?.count == 1)
    }

    @Test func `an address is a server's`() {
        #expect(
            ModeratorAddress("https://rekognition.eu-central-1.amazonaws.com/")?.host == "rekognition.eu-central-1.amazonaws.com"
        )
        #expect(ModeratorAddress("https://example.com:443")?.host == "example.com")
        #expect(ModeratorAddress("http://127.0.0.1:9000")?.host == "127.0.0.1:9000")
        for bad in ["", "example.com", "ftp://example.com", "https://", "https://a b", "https://example.com/path", "https://u@h"]
        {
            #expect(ModeratorAddress(bad) == nil, "\(bad)")
        }
    }
}
