import Bus
import DevEnvironment
import Foundation
import Kernel
import Runtime
import Synchronization
import TestSupport
import Testing

@testable import GatewayService

/// A hostile program with the password that `social` has on the bus, and the rights that go with it (D23).
@Suite(.timeLimit(.minutes(3))) struct RogueServiceTests {
    private static let page = "<script>fetch('/api/admin/accounts')</script>"

    private static func descriptor(_ service: String, _ paths: String...) -> HandmadeDescriptor {
        let methods = paths.enumerated().map { HandmadeDescriptor.Method(name: "Method\($0)", path: $1) }
        return HandmadeDescriptor(service: service, methods: methods)
    }

    private static let streaks = descriptor("streaks", "/api/streaks/items", "/api/streaks/by/{text}")
    private static let social = descriptor("social", "/api/social/old", "/api/social/both")
    private static let newSocial = descriptor("social", "/api/social/new", "/api/social/both")

    /// Takes a body unread, and a header with it.
    private static func unread(_ header: String) -> [UInt8] {
        let header = HandmadeDescriptor.field(3, HandmadeDescriptor.text(1, header) + HandmadeDescriptor.text(2, "text"))
        let body = HandmadeDescriptor.text(1, "content") + HandmadeDescriptor.varint(2, 5_000)
        return HandmadeDescriptor.field(12, body + header)
    }

    /// Answers with bytes as they are.
    private static func bytes(_ type: String, _ headers: String...) -> [UInt8] {
        let body = HandmadeDescriptor.text(1, "text") + HandmadeDescriptor.text(3, type)
        return HandmadeDescriptor.field(5, body + headers.flatMap { HandmadeDescriptor.text(7, $0) })
    }

    /// What was live in the attack, and more of its kind.
    private static let rogue = HandmadeDescriptor(
        service: "social",
        methods: [
            .init(name: "Steal", verb: "POST", path: "/api/streaks/items", auth: 5, policy: unread("authorization")),
            .init(name: "Hook", verb: "POST", path: "/api/social/hook", auth: 5, policy: unread("Authorization")),
            .init(name: "Jar", verb: "POST", path: "/api/social/jar", auth: 5, policy: unread("Cookie")),
            .init(name: "Take", path: "/api/streaks/items"), .init(name: "Shadow", path: "/api/streaks/by/me"),
            .init(name: "All", verb: "POST", path: "/api/{text=**}"), .init(name: "Root", path: "/{text=**}"),
            .init(name: "Below", path: "/api/streaks/{text=**}"), .init(name: "Health", path: "/healthz"),
            .init(name: "Page", path: "/api/social/page", policy: bytes("text/html", "Content-Security-Policy: script-src *")),
            .init(name: "Picture", path: "/api/social/picture", policy: bytes("image/svg+xml", "X-Content-Type-Options: off")),
        ],
        messages: [.init(fields: ["text", "content"], bytes: ["content"])]
    )

    /// A broker with the rights of a real one, gateways that check signatures, and replicas in this process.
    private final class World: Sendable {
        let nats: NatsServer
        let keys: [String: ServiceKey]
        private let buses = Mutex<[BusConnection]>([])
        private let gateways = Mutex<[GatewayHost]>([])

        init() async throws {
            let users = NATSConfiguration.deployed.users
            let accounts = users.reduce(NATSConfiguration.deployed.accounts) { text, user in
                text.replacing("$\(user.passwordVariable)", with: "\"test\"")
            }
            nats = try await NatsServer.start(configuration: accounts)
            keys = ["social": try HandmadeDescriptor.key(), "streaks": try HandmadeDescriptor.key()]
        }

        func bus(_ user: String) async throws -> BusConnection {
            let bus = try await BusConnection.connect(
                BusConfiguration(url: nats.url, name: user, user: user, password: "test", inboxPrefix: "_INBOX.\(user)"),
                logger: EchoGateway.silence
            )
            buses.withLock { $0.append(bus) }
            return bus
        }

        /// Starts a replica, which answers with the name of what it is.
        func start(_ descriptor: HandmadeDescriptor, _ version: String, key: ServiceKey?, says: String) async throws -> BusService
        {
            let replica = try descriptor.replica(version: version, on: await bus(descriptor.service), key: key, reply: says)
            try await replica.start()
            return replica
        }

        func addGateway() async throws -> UInt16 {
            let keys = keys.map { "\($0)=\($1.publicText)" }.sorted().joined(separator: ",")
            let host = try EchoGateway.makeHost(
                nats.url,
                files: nats.files.appendingPathComponent("blobs"),
                ["nats.password": "test", "gateway.services": "social,streaks", "service.public-keys": keys]
            )
            try await host.start()
            gateways.withLock { $0.append(host) }
            return UInt16(clamping: host.port)
        }

        func stop() async {
            for gateway in gateways.withLock({ $0 }) { await gateway.stop() }
            for bus in buses.withLock({ $0 }) { await bus.close() }
        }
    }

    private static func ask(_ port: UInt16, _ request: String) async throws -> RawReply {
        let connection = try RawConnection(port: port)
        let head = "\(request) HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer secret\r\nCookie: a=secret\r\n"
        try await connection.send("\(head)Content-Length: \(request.hasPrefix("POST") ? 2 : 0)\r\n\r\n")
        if request.hasPrefix("POST") { try await connection.send("{}") }
        return try await connection.reply()
    }

    private static func health(_ port: UInt16) async throws -> String { try await ask(port, "GET /api/health").body }

    /// Nothing of the attack is served.
    private static func checkUntouched(_ port: UInt16) async throws {
        for path in ["/api/streaks/items", "/api/streaks/by/me"] {
            let reply = try await ask(port, "GET \(path)")
            #expect(reply.status == 200 && reply.body.contains("genuine streaks"), "\(path): \(reply)")
        }
        #expect(try await ask(port, "POST /api/streaks/items").status == 405)
        for request in ["POST /api/social/hook", "POST /api/social/jar", "POST /api/other", "GET /other", "GET /api/streaks/x/y"]
        {
            #expect(try await ask(port, request).status == 404, "\(request)")
        }
        #expect(try await ask(port, "GET /healthz").body == "alive\n")
    }

    @Test func `with the password alone it brings no route and is reported, and an upgrade rolls beside it`() async throws {
        let world = try await World()
        let streaks = try await world.start(Self.streaks, "1.0.0", key: world.keys["streaks"], says: "genuine streaks")
        let old = try await world.start(Self.social, "1.0.0", key: world.keys["social"], says: "genuine social")
        let port = try await world.addGateway()
        try await eventually("the genuine routes are served") {
            let (first, second) = (
                try await Self.ask(port, "GET /api/streaks/items"), try await Self.ask(port, "GET /api/social/old")
            )
            return first.status == 200 && second.status == 200
        }
        #expect(try await !Self.health(port).contains("refused"))

        // Unsigned, and signed by a key of its own.
        let unsigned = try await world.start(Self.rogue, "9.0.0", key: nil, says: "rogue")
        let other = try await world.start(Self.rogue, "9.0.0", key: HandmadeDescriptor.key(), says: "rogue")
        try await eventually("it is reported") { try await Self.health(port).contains(#""refused":["social"]"#) }
        try await Self.checkUntouched(port)
        #expect(try await Self.ask(port, "GET /api/social/page").status == 404)

        let new = try await world.start(Self.newSocial, "1.1.0", key: world.keys["social"], says: "genuine social")
        try await eventually("the new version's route is served") {
            try await Self.ask(port, "GET /api/social/new").status == 200
        }
        #expect(try await Self.ask(port, "GET /api/social/old").status == 200)
        await old.drain()
        try await eventually("the old version's is gone") { try await Self.ask(port, "GET /api/social/old").status == 404 }
        #expect(try await Self.ask(port, "GET /api/social/both").body.contains("genuine social"))
        try await Self.checkUntouched(port)
        for replica in [unsigned, other] { await replica.drain() }
        try await eventually("nothing is refused any more") { try await !Self.health(port).contains("refused") }
        for replica in [streaks, new] { await replica.drain() }
        await world.stop()
    }

    @Test func `with the key of its service too it gets no path, header or script that is not that service's`() async throws {
        let world = try await World()
        let streaks = try await world.start(Self.streaks, "1.0.0", key: world.keys["streaks"], says: "genuine streaks")
        let social = try await world.start(Self.social, "1.0.0", key: world.keys["social"], says: "genuine social")
        let port = try await world.addGateway()
        try await eventually("both are known") {
            let (first, second) = (
                try await Self.ask(port, "GET /api/streaks/items"), try await Self.ask(port, "GET /api/social/old")
            )
            return first.status == 200 && second.status == 200
        }
        let rogue = try await world.start(Self.rogue, "9.0.0", key: world.keys["social"], says: Self.page)
        try await eventually("its own paths are served") { try await Self.ask(port, "GET /api/social/page").status == 200 }
        #expect(try await Self.health(port).contains(#""refused":["social"]"#))
        try await Self.checkUntouched(port)
        for path in ["/api/social/page", "/api/social/picture"] {
            let reply = try await Self.ask(port, "GET \(path)")
            #expect(reply.body == Self.page && reply["Content-Security-Policy"] == ContentPolicy.strict, "\(reply)")
            #expect(reply["X-Content-Type-Options"] == "nosniff")
        }
        for replica in [streaks, social, rogue] { await replica.drain() }
        await world.stop()
    }

    @Test func `what is refused is on the page of metrics`() async throws {
        let world = try await World()
        let rogue = try await world.start(Self.rogue, "9.0.0", key: nil, says: "rogue")
        let named = try await world.start(Self.social, "1.0.0", key: world.keys["social"], says: "genuine social")
        let key = try #require(world.keys["social"])
        let keys = try #require(ServicePublicKeys(settingText: "social=\(key.publicText)"))
        let catalog = ServiceCatalog(
            bus: try await world.bus("gateway"),
            expected: ["social"],
            logger: EchoGateway.silence,
            keys: keys
        )
        let metrics = Metrics()
        catalog.show(in: metrics)
        try await eventually("both have answered") {
            await catalog.look()
            return catalog.refusedReplicas == 1 && catalog.knows(["social"])
        }
        #expect(catalog.refused == ["social"] && catalog.instances.map(\.version) == ["1.0.0"])
        let lines = metrics.text().split(separator: "\n")
        #expect(lines.contains("streaksnap_gateway_refused_replicas 1.0"))
        #expect(lines.contains("streaksnap_gateway_refused_routes 0.0"))
        #expect(lines.contains("streaksnap_gateway_checks_descriptors 1.0"))
        for replica in [rogue, named] { await replica.drain() }
        await world.stop()
    }
}
