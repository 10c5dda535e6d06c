import Bus
import Foundation
import Kernel
import Runtime
import TestSupport
import Testing

@testable import GatewayService

/// Where the keys come from that verify access tokens (AU-3, D23).
@Suite(.timeLimit(.minutes(3))) struct KeyPinTests {
    private static func ask(_ port: UInt16, _ path: String) async throws -> RawReply {
        let connection = try RawConnection(port: port)
        try await connection.send("GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        return try await connection.reply()
    }

    @Test func `a service that answers before the one that signs tokens cannot bring its own keys`() async throws {
        let key = try HandmadeDescriptor.key()
        let world = try await WatchWorld(key: key, isStarted: false)
        let rogueKey = try HandmadeDescriptor.key()
        let rogue = HandmadeDescriptor(
            service: "abacus",
            methods: [
                .init(name: "Keys", path: "/.well-known/jwks.json"), .init(name: "Any", path: "/.well-known/{text}"),
                .init(name: "Fine", path: "/api/abacus/fine"),
            ]
        )
        let replica = try rogue.replica(version: "1.0.0", on: world.bus, key: rogueKey, reply: "rogue")
        try await replica.start()
        let keys = "watch=\(key.publicText),abacus=\(rogueKey.publicText)"
        let port = try await world.addGateway(["service.public-keys": keys, "gateway.ready-timeout": "0"]).port
        try await eventually("it is there") { try await Self.ask(port, "/api/abacus/fine").status == 200 }
        #expect(try await Self.ask(port, "/.well-known/jwks.json").status == 503, "not every service has been found")
        #expect(try await Self.ask(port, "/readyz").body.contains("no signing keys yet"))
        #expect(try await Self.ask(port, "/api/health").body.contains(#""refused":["abacus"]"#))
        try await world.start()
        try await eventually("the keys of the right one are known") { try await Self.ask(port, "/readyz").status == 200 }
        #expect(try await Self.ask(port, "/.well-known/jwks.json").body.contains("P-256"))
        #expect(try await Self.ask(port, "/.well-known/other").status == 404)
        await replica.drain()
        await world.stop()
    }

    @Test func `keys that the deployment has not signed verify nothing, although the descriptor is genuine`() async throws {
        let world = try await WatchWorld(key: HandmadeDescriptor.key(), signsKeys: false)
        let port = try await world.addGateway(["gateway.ready-timeout": "0"]).port
        try await eventually("the keys were asked for again and again") { world.keyQuestions >= 6 }
        #expect(try await Self.ask(port, "/readyz").body == "no signing keys yet\n")
        #expect(try await Self.ask(port, "/.well-known/jwks.json").status == 200)
        await world.stop()
    }

    @Test func `keys count only as they were signed, by that service, and lately`() throws {
        let (key, other) = (try HandmadeDescriptor.key(), try HandmadeDescriptor.key())
        let keys = try #require(ServicePublicKeys(settingText: "auth=\(key.publicText),social=\(other.publicText)"))
        let now = Instant(seconds: 1_800_000_000)
        func published(_ signer: ServiceKey, x: String = "x", signedX: String = "x", at: Int64 = now.seconds) throws
            -> PublishedKeys
        {
            let statement = ServiceStatement.tokenKeys(
                service: "auth",
                signedAt: at,
                keys: [(kty: "EC", crv: "P-256", kid: "k", x: signedX, y: "y")]
            )
            let json = """
                {"keys":[{"kty":"EC","crv":"P-256","kid":"k","use":"sig","alg":"ES256","x":"\(x)","y":"y"}],\
                "signed_at":\(at),"signature":"\(try signer.sign(statement))"}
                """
            return try JSONDecoder().decode(PublishedKeys.self, from: Data(json.utf8))
        }
        #expect(try published(key).isSigned(by: "auth", keys, now: now))
        #expect(try published(key, at: now.seconds - 600).isSigned(by: "auth", keys, now: now))
        #expect(try !published(key, at: now.seconds - 601).isSigned(by: "auth", keys, now: now), "of an earlier day")
        #expect(try !published(key, at: now.seconds + 601).isSigned(by: "auth", keys, now: now))
        #expect(try !published(key, x: "z").isSigned(by: "auth", keys, now: now), "another key")
        #expect(try !published(other).isSigned(by: "auth", keys, now: now), "signed by another service")
        #expect(try !published(key).isSigned(by: "social", keys, now: now))
        let bare = try JSONDecoder().decode(PublishedKeys.self, from: Data(#"{"keys":[]}"#.utf8))
        #expect(!bare.isSigned(by: "auth", keys, now: now), "of a release that does not sign")
        #expect(try published(key).jwks == published(key, at: now.seconds - 5).jwks, "two replicas with the same keys agree")
    }
}
