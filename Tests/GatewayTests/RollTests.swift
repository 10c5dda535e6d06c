import Bus
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import GatewayService

/// Two versions of a service at the same time (D2), while clients ask without a pause.
@Suite(.serialized) struct RollTests {
    private static let old = HandmadeDescriptor(
        service: "roll",
        methods: [.init(name: "Old", path: "/api/roll/items"), .init(name: "Moved", path: "/api/roll/before")],
        messages: [.init(comment: "The old words.")]
    )
    /// A route on a path that takes another method already, one on a path of its own, and a path that has moved.
    private static let new = HandmadeDescriptor(
        service: "roll",
        methods: [
            .init(name: "Old", path: "/api/roll/items"), .init(name: "Add", verb: "POST", path: "/api/roll/items"),
            .init(name: "New", path: "/api/roll/new"), .init(name: "Moved", path: "/api/roll/after"),
        ],
        messages: [.init(fields: ["text", "title"], comment: "The new words.")]
    )

    /// A broker, gateways, and replicas of a service in this process.
    private final class World: Sendable {
        let nats: NatsServer
        let bus: BusConnection
        private let gateways = Mutex<[GatewayHost]>([])

        init() async throws {
            nats = try await NatsServer.start()
            bus = try await BusConnection.connect(BusConfiguration(url: nats.url), logger: EchoGateway.silence)
        }

        /// Starts one more gateway. - Returns: its port.
        func addGateway() async throws -> UInt16 {
            let files = nats.files.appendingPathComponent("blobs")
            let host = try EchoGateway.makeHost(nats.url, files: files, ["gateway.services": "roll"])
            try await host.start()
            gateways.withLock { $0.append(host) }
            return UInt16(clamping: host.port)
        }

        func start(_ descriptor: HandmadeDescriptor, _ version: String, claimed: String? = nil) async throws -> BusService {
            let replica = try descriptor.replica(version: version, on: bus, claimed: claimed)
            try await replica.start()
            return replica
        }

        func stop() async {
            for gateway in gateways.withLock({ $0 }) { await gateway.stop() }
            await bus.close()
        }
    }

    private static func ask(_ port: UInt16, _ request: String) async throws -> RawReply {
        let body = request.hasPrefix("POST") ? #"{"text":"x"}"# : ""
        let connection = try RawConnection(port: port)
        try await connection.send(
            "\(request) HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
        return try await connection.reply()
    }

    private static func status(_ port: UInt16, _ request: String) async throws -> Int { try await ask(port, request).status }

    private static func page(_ port: UInt16) async throws -> String { try await ask(port, "GET /openapi.json").body }

    /// A client that asks for one route without a pause.
    private final class Client: Sendable {
        private struct State {
            var hasBegun: Bool
            var isEnding = false
            var good = 0
            var bad: [Int] = []
        }

        private let state: Mutex<State>
        private let task = Mutex<Task<Void, Never>?>(nil)

        /// - Parameter afterFirst: failures count after the first success only.
        init(_ port: UInt16, _ request: String, afterFirst: Bool = false) {
            state = Mutex(State(hasBegun: !afterFirst))
            task.withLock { task in
                task = Task { [self] in
                    // Not cancelled: that would break off the request that runs.
                    while !state.withLock({ $0.isEnding }) {
                        let status = (try? await RollTests.status(port, request)) ?? 0
                        state.withLock { state in
                            state.hasBegun = state.hasBegun || status == 200
                            if status == 200 { state.good += 1 } else if state.hasBegun { state.bad.append(status) }
                        }
                    }
                }
            }
        }

        var good: Int { state.withLock { $0.good } }
        var bad: [Int] { state.withLock { $0.bad } }

        /// Ends after the request that runs.
        func end() async {
            state.withLock { $0.isEnding = true }
            await task.withLock { $0 }?.value
        }
    }

    @Test func `a service is rolled up and back under load, and no request to a route that is served fails`() async throws {
        let world = try await World()
        var replicas = [try await world.start(Self.old, "1.0.0"), try await world.start(Self.old, "1.0.0")]
        let ports = [try await world.addGateway(), try await world.addGateway()]
        for port in ports {
            try await eventually("the old routes are served") { try await Self.status(port, "GET /api/roll/items") == 200 }
            #expect(try await Self.status(port, "POST /api/roll/items") == 405)
        }
        let lasting = ports.flatMap { [Client($0, "GET /api/roll/items"), Client($0, "GET /api/roll/before")] }
        let added = ports.flatMap { port in
            ["POST /api/roll/items", "GET /api/roll/new", "GET /api/roll/after"].map { Client(port, $0, afterFirst: true) }
        }
        func served(_ clients: [Client], _ what: String) async throws {
            let before = clients.map(\.good)
            try await eventually(what, within: .seconds(180)) { zip(clients, before).allSatisfy { $0.good >= $1 + 200 } }
        }

        // Up: both versions, then only the new one.
        replicas.append(try await world.start(Self.new, "1.1.0"))
        try await served(added, "the new routes are served beside the old ones")
        let late = try await world.addGateway()
        try await eventually("a gateway that starts now serves both") {
            let old = try await Self.status(late, "GET /api/roll/before")
            let new = try await Self.status(late, "POST /api/roll/items")
            return old == 200 && new == 200
        }
        #expect(try await Self.page(late).contains("The new words."))
        replicas.append(try await world.start(Self.new, "1.1.0"))
        await replicas[0].drain()
        try await served(lasting + added, "one old replica is left")

        // Back: the old version comes again before the new one goes.
        replicas.append(try await world.start(Self.old, "1.0.0"))
        await replicas[2].drain()
        try await served(lasting + added, "one new replica is left")
        for client in added { await client.end() }
        await replicas[3].drain()
        for port in ports {
            try await eventually("the new routes are gone with the last replica that serves them") {
                let (added, new) = (
                    try await Self.status(port, "POST /api/roll/items"), try await Self.status(port, "GET /api/roll/new")
                )
                return added == 405 && new == 404
            }
            let page = try await Self.page(port)
            #expect(!page.contains("/api/roll/new") && page.contains("The old words.") && !page.contains("The new words."))
        }
        try await served(lasting, "the old routes are served")
        for client in lasting { await client.end() }
        #expect(lasting.flatMap(\.bad) == [])
        #expect(added.flatMap(\.bad) == [])
        for replica in replicas { await replica.drain() }
        await world.stop()
    }

    @Test func `a descriptor that does not have the hash it is requested by is not used`() async throws {
        let world = try await World()
        let honest = try await world.start(Self.old, "1.0.0")
        let forged = try await world.start(Self.new, "9.0.0", claimed: String(repeating: "a", count: 64))
        let port = try await world.addGateway()
        try await eventually("the honest replica's routes are served") {
            try await Self.status(port, "GET /api/roll/items") == 200
        }
        let catalog = ServiceCatalog(bus: world.bus, expected: ["roll"], logger: EchoGateway.silence)
        #expect(!catalog.isReady)
        await catalog.look()
        #expect(catalog.isReady && catalog.instances.count == 2)
        #expect(catalog.routes.routes.map(\.template) == ["/api/roll/items", "/api/roll/before"])
        #expect(try await Self.status(port, "GET /api/roll/new") == 404)
        for replica in [honest, forged] { await replica.drain() }
        await world.stop()
    }
}
