import Bus
import TestSupport
import Testing
import Transcoding

@testable import GatewayService

/// Gateways of one process that come one after the other.
@Suite(.timeLimit(.minutes(2))) struct DescriptorCacheTests {
    private static let before = HandmadeDescriptor(
        service: "roll",
        methods: [.init(name: "Get", path: "/api/roll/before")]
    )
    private static let after = HandmadeDescriptor(service: "roll", methods: [.init(name: "Get", path: "/api/roll/after")])

    @Test func `each descriptor is found by its own hash`() throws {
        let cache = DescriptorCache()
        #expect(cache[Self.before.hash] == nil)
        for descriptor in [Self.before, Self.after] {
            cache.keep(try DescriptorSet(serialized: descriptor.bytes), hash: descriptor.hash)
        }
        for descriptor in [Self.before, Self.after] {
            let table = RouteTable()
            let set = try #require(cache[descriptor.hash])
            let refused = table.replace(with: [.init(name: "roll", sets: [set])])
            let none = refused.values.allSatisfy { $0.isEmpty }
            #expect(none, "\(refused)")
            #expect(table.routes.map(\.template) == descriptor.methods.map(\.path))
        }
        #expect(cache[String(repeating: "a", count: 64)] == nil)
    }

    @Test func `a gateway takes from it what another one has had, and puts in only what has its hash`() async throws {
        let nats = try await NatsServer.start()
        let bus = try await BusConnection.connect(BusConfiguration(url: nats.url), logger: EchoGateway.silence)
        /// The paths that a gateway serves when it has found the only replica.
        func paths(_ cache: DescriptorCache?) async throws -> [String] {
            let catalog = ServiceCatalog(bus: bus, expected: ["roll"], logger: EchoGateway.silence, cache: cache)
            try await eventually("the replica is found") {
                await catalog.look()
                return catalog.instances.count == 1
            }
            return catalog.routes.routes.map(\.template)
        }

        let replica = try Self.before.replica(version: "1.0.0", on: bus)
        try await replica.start()
        let cache = DescriptorCache()
        #expect(try await paths(cache) == ["/api/roll/before"])
        #expect(cache[Self.before.hash] != nil)
        await replica.drain()

        // One that gives another descriptor for the same hash shows who asks for it.
        let liar = try Self.after.replica(version: "1.0.0", on: bus, claimed: Self.before.hash)
        try await liar.start()
        #expect(try await paths(nil).isEmpty)
        let fresh = DescriptorCache()
        #expect(try await paths(fresh).isEmpty)
        #expect(fresh[Self.before.hash] == nil)
        #expect(try await paths(cache) == ["/api/roll/before"])
        await liar.drain()
        await bus.close()
    }
}
