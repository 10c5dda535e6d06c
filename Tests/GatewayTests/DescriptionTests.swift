import Bus
import Kernel
import NIOCore
import TestSupport
import Testing

@testable import GatewayService

/// The description of the API, which everyone may ask for.
@Suite(.timeLimit(.minutes(2))) struct DescriptionTests {
    /// Where the bytes lie.
    private static func place(of buffer: ByteBuffer) -> UInt {
        buffer.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
    }

    @Test func `it is made once a day for the routes that there are, and all replies share its bytes`() async throws {
        let nats = try await NatsServer.start()
        let bus = try await BusConnection.connect(BusConfiguration(url: nats.url), logger: EchoGateway.silence)
        let catalog = ServiceCatalog(bus: bus, expected: ["roll"], logger: EchoGateway.silence)
        let clock = ManualClock(Instant(seconds: 1_767_322_800))
        let documentation = DocumentationRoutes(catalog: catalog, developmentClock: false, clock: clock)
        let empty = documentation.page.plain.bytes
        #expect(Self.place(of: documentation.page.plain.bytes) == Self.place(of: empty))
        let descriptor = HandmadeDescriptor(service: "roll", methods: [.init(name: "Get", path: "/api/roll/items")])
        let replica = try descriptor.replica(version: "1.0.0", on: bus)
        try await replica.start()
        try await eventually("the route is known") {
            await catalog.look()
            return catalog.knows(["roll"])
        }
        let full = documentation.page.plain.bytes
        #expect(!String(buffer: empty).contains("/api/roll/items") && String(buffer: full).contains("/api/roll/items"))
        await catalog.look()
        #expect(Self.place(of: documentation.page.plain.bytes) == Self.place(of: full), "nothing has changed")
        clock.advance(by: .hours(24))
        let tomorrow = documentation.page.plain.bytes
        #expect(
            String(buffer: full).contains("2026-01-02T00:00:00Z") && String(buffer: tomorrow).contains("2026-01-03T00:00:00Z")
        )
        #expect(Self.place(of: documentation.page.plain.bytes) == Self.place(of: tomorrow), "once a day")
        await replica.drain()
        await bus.close()
    }
}
