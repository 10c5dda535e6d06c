import Bus
import Kernel
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Outbox

@Suite("A consumer's lag", .serialized, .timeLimit(.minutes(10)))
struct LagTests {
    @Test func `counts what was not passed, also as seen by a standby replica`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let isOpen = Atomic(false)
            let sinks = [
                try await world.sink { _, _ in
                    while !isOpen.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(10)) }
                },
                try await world.sink { _, _ in
                    while !isOpen.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(10)) }
                },
            ]
            try await emitter.emit("a", 0..<20)
            for sink in sinks {
                try await eventually("all of them wait") { try await sink.consumer.pending() == ["EVT_SOURCE": 20] }
            }
            isOpen.store(true, ordering: .relaxed)
            for sink in sinks {
                try await eventually("none waits") { try await sink.consumer.pending() == ["EVT_SOURCE": 0] }
            }
            #expect(try await world.consumed("a") == Array(0..<20))
        }
    }

    @Test func `counts parked events and what they hold back`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let sink = try await world.sink(maxAttempts: 2) { ping, _ in
                if ping.aggregateID == "bad", ping.number == 0 { throw Refused() }
            }
            try await emitter.emit("bad", 0..<4)
            try await eventually("one is parked, three wait behind it") {
                try await sink.consumer.retries() == RetryLag(retrying: 3, parked: 1, heldBack: 3)
            }
            try await eventually("nothing is under way") { try await sink.consumer.backlog() == 0 }
        }
    }

    @Test func `is zero for a stream that was not made yet`() async throws {
        try await withWorld(keepsStreams: false) { world in
            let sink = try await world.sink()
            try await world.ask("STREAM.DELETE.EVT_SOURCE")
            #expect(try await sink.consumer.pending() == ["EVT_SOURCE": 0])
            #expect(try await sink.consumer.backlog() == 0)
        }
    }

    @Test func `a stream that the broker does not answer for is left out, the others are not`() async throws {
        try await withWorld { world in
            try await world.emitter().emit("a", 0..<3)
            let both = try await world.idleConsumer(
                of: "both",
                [EventHandler(Ping.self) { _, _ in }, EventHandler(Stray.self) { _, _ in }]
            )
            let one = try await world.idleConsumer(of: "one", [EventHandler(Ping.self) { _, _ in }])
            let none = try await world.idleConsumer(of: "none", [EventHandler(Stray.self) { _, _ in }])
            let expected = ["both": ["EVT_SOURCE": 3], "one": ["EVT_SOURCE": 3]]
            try await eventually("all have left the outbox") {
                try await EventConsumer.pending(of: [none, both, one]) == expected
            }
            // Nothing is said of a backlog that is not known.
            await #expect(throws: ServiceError.self) { try await both.backlog() }
        }
    }
}

/// An event of a service whose name the broker takes for no stream.
private struct Stray: Event {
    static let fullName = "test.v1.Stray"
    static let subject = "evt.no service.v1.Stray"
    var aggregateID = ""

    init() {}
    init(serialized bytes: UnsafeRawBufferPointer) throws {}
    func serialized() throws -> [UInt8] { [] }
    func collectViolations(into violations: inout Violations, path: FieldPath) {}
}

extension World {
    /// A consumer of the sink's that only says what waits for it.
    fileprivate func idleConsumer(of feature: String, _ handlers: [EventHandler]) async throws -> EventConsumer {
        let replica = try await emitter(relays: false)
        return EventConsumer(
            service: "sink",
            feature: feature,
            handlers: handlers,
            database: sink,
            work: replica.work,
            jetStream: JetStream(connection: bus),
            logger: PostgresServer.silence
        )
    }
}
