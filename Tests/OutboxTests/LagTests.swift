import Synchronization
import TestSupport
import Testing

@testable import Outbox

@Suite("A consumer's lag", .serialized, .timeLimit(.minutes(3)))
struct LagTests {
    @Test func `counts what was not passed, also as seen by a replica that stands by`() async throws {
        try await withWorld { world in
            let teller = try await world.teller()
            let isOpen = Atomic(false)
            let hearers = [
                try await world.hearer { _, _ in
                    while !isOpen.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(10)) }
                },
                try await world.hearer { _, _ in
                    while !isOpen.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(10)) }
                },
            ]
            try await teller.tell("a", 0..<20)
            for hearer in hearers {
                try await eventually("all of them wait") { try await hearer.consumer.pending() == ["EVT_SOURCE": 20] }
            }
            isOpen.store(true, ordering: .relaxed)
            for hearer in hearers {
                try await eventually("none waits") { try await hearer.consumer.pending() == ["EVT_SOURCE": 0] }
            }
            #expect(try await world.heard("a") == Array(0..<20))
        }
    }

    @Test func `counts parked events and what they hold back`() async throws {
        try await withWorld { world in
            let teller = try await world.teller()
            let hearer = try await world.hearer(maxAttempts: 2) { ping, _ in
                if ping.aggregateID == "bad", ping.number == 0 { throw Refused() }
            }
            try await teller.tell("bad", 0..<4)
            try await eventually("one is parked, three wait behind it") {
                try await hearer.consumer.retries() == RetryLag(retrying: 3, parked: 1, heldBack: 3)
            }
            try await eventually("nothing is under way") { try await hearer.consumer.backlog() == 0 }
        }
    }

    @Test func `is zero for a stream that nobody has made yet`() async throws {
        try await withWorld(keepsStreams: false) { world in
            let hearer = try await world.hearer()
            try await world.ask("STREAM.DELETE.EVT_SOURCE")
            #expect(try await hearer.consumer.pending() == ["EVT_SOURCE": 0])
            #expect(try await hearer.consumer.backlog() == 0)
        }
    }
}
