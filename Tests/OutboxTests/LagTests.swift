import Synchronization
import TestSupport
import Testing

@testable import Outbox

@Suite("A consumer's lag", .serialized, .timeLimit(.minutes(3)))
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
}
