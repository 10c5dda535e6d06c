import Bus
import Database
import Kernel
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Outbox

/// What comes in one pass, divided into what shares a transaction.
@Suite struct EventRunTests {
    private let batch = EventBatch<Int> { _, _ in }
    private let other = EventBatch<Int> { _, _ in }

    private func handler(in batch: EventBatch<Int>?) -> EventHandler {
        guard let batch else { return EventHandler(Ping.self) { _, _ in } }
        return EventHandler(Ping.self, in: batch) { ping, _ in [ping.number] }
    }

    private func pass(_ events: [(aggregate: String, batch: EventBatch<Int>?)]) -> [WaitingEvent] {
        events.enumerated().map { place, event in
            let stored = StoredEvent(
                id: EventID(high: 1, low: UInt64(place)),
                aggregate: event.aggregate,
                subject: Ping.subject,
                trace: "",
                requestID: "",
                body: []
            )
            return WaitingEvent(sequence: place, event: stored, handler: handler(in: event.batch))
        }
    }

    @Test func `events of one batch are one run, in the order of the stream`() {
        let runs = EventRun.divide(pass([("a", batch), ("b", batch), ("a", batch), ("c", batch)]))
        #expect(runs.map { $0.events.map(\.sequence) } == [[0, 1, 2, 3]])
        #expect(runs.allSatisfy { $0.together != nil })
    }

    @Test func `events without a batch are a run for each aggregate`() {
        let runs = EventRun.divide(pass([("a", nil), ("b", nil), ("a", nil)]))
        #expect(runs.map { $0.events.map(\.sequence) } == [[0, 2], [1]])
        #expect(runs.allSatisfy { $0.together == nil })
    }

    @Test func `an aggregate that several batches or handlers share is handled event by event`() {
        let runs = EventRun.divide(
            pass([("a", batch), ("b", batch), ("a", nil), ("c", other), ("b", batch), ("d", batch), ("d", other)])
        )
        #expect(runs.map { $0.events.map(\.sequence) } == [[0, 2], [1, 4], [3], [5, 6]])
        #expect(runs.map { $0.together != nil } == [false, true, true, false])
    }
}

@Suite("Events that are consumed together", .serialized, .timeLimit(.minutes(10)))
struct BatchTests {
    @Test func `take effect once and in order, in fewer transactions than events`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            try await emitter.work.run(trace: "", requestID: "") { work in
                try await work.emit((0..<400).map { Ping("a\($0 % 8)", $0 / 8) })
            }
            try await eventually("everything has left") { try await emitter.relay.backlog() == 0 }
            let batches = Atomic(0)
            _ = try await world.batchSink(before: { _ in batches.add(1, ordering: .relaxed) })
            try await eventually("everything is consumed") { try await world.consumedCount() >= 400 }
            for aggregate in 0..<8 { #expect(try await world.consumed("a\(aggregate)") == Array(0..<50)) }
            #expect(batches.load(ordering: .relaxed) < 200)
            #expect(try await world.sink.query("SELECT 1 FROM inbox").count == 400)
            // All of them once more: the inbox has them.
            #expect(try await emitter.relay.replay(since: .epoch) == 400)
            try await emitter.emit("last", [-1, 0])
            try await eventually("it is consumed") { try await world.consumed("last") == [0] }
            #expect(try await world.consumedCount() == 401)
            #expect(try await world.sink.query("SELECT 1 FROM inbox").count == 402, "one that is of no interest is consumed too")
        }
    }

    @Test func `and of which one fails: it alone is parked, and holds up only its aggregate`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            try await emitter.work.run(trace: "", requestID: "") { work in
                try await work.emit((0..<120).map { Ping($0 % 24 == 7 ? "bad" : "good\($0 % 3)", $0) })
                try await work.emit(Garbage("unreadable"))
            }
            try await eventually("everything has left") { try await emitter.relay.backlog() == 0 }
            let isMended = Atomic(false)
            let sink = try await world.batchSink(maxAttempts: 2) { pings in
                let isBad = pings.contains { $0.aggregateID == "bad" && $0.number == 31 }
                if isBad, !isMended.load(ordering: .relaxed) { throw Refused() }
            }
            try await eventually("two are parked") { try await sink.consumer.parked.list().count == 2 }
            try await eventually("all others are consumed") { try await world.consumedCount() == 116 }
            #expect(try await world.consumed("bad") == [7])
            for aggregate in 0..<3 {
                let expected = (0..<120).filter { $0 % 24 != 7 && $0 % 3 == aggregate }
                #expect(try await world.consumed("good\(aggregate)") == expected)
            }
            let parked = try await sink.consumer.parked.list()
            #expect(Set(parked.map(\.aggregate)) == ["bad", "unreadable"])
            // What comes now finds it waiting.
            try await emitter.emit("bad", [200])
            try await emitter.emit("good0", [201])
            try await eventually("the good is consumed") { try await world.consumedCount() == 117 }
            #expect(try await world.consumed("bad") == [7])
            isMended.store(true, ordering: .relaxed)
            let bad = try #require(parked.first { $0.aggregate == "bad" })
            #expect(try await sink.consumer.parked.redrive(bad.id) == 1)
            try await eventually("the bad is consumed") { try await world.consumed("bad") == [7, 31, 55, 79, 103, 200] }
        }
    }

    @Test func `and whose transaction fails after its effects: they happen once`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            try await emitter.work.run(trace: "", requestID: "") { work in
                try await work.emit((0..<60).map { Ping("a\($0 % 4)", $0) })
            }
            try await eventually("everything has left") { try await emitter.relay.backlog() == 0 }
            let failures = Atomic(7)
            _ = try await world.batchSink(after: { _, work in
                let left = failures.subtract(1, ordering: .relaxed).newValue
                guard left >= 0 else { return }
                // Some look as if they would pass, some as if an event were at fault.
                let code: Query = left.isMultiple(of: 2) ? "40001" : "22012"
                _ = try await work.sql.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '\(code)'; END $$")
            })
            try await eventually("everything is consumed") { try await world.consumedCount() >= 60 }
            #expect(try await world.sink.query("SELECT 1 FROM consumed").count == 60)
            for aggregate in 0..<4 {
                #expect(try await world.consumed("a\(aggregate)") == (0..<60).filter { $0 % 4 == aggregate })
            }
        }
    }

    @Test func `two replicas that are at the same events share them without waiting for each other in a ring`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            _ = try await world.batchSink()
            _ = try await world.batchSink()
            for round in 0..<6 {
                try await emitter.work.run(trace: "", requestID: "") { work in
                    try await work.emit((0..<50).map { Ping("a\($0 % 5)", round * 50 + $0) })
                }
                // The other one reads now, while the first may still be at it.
                let before = try await holder(world)
                try await eventually("the other one reads") {
                    try await world.sink.execute("UPDATE consumer_lease SET held_until = '-infinity' WHERE holder = \(before)")
                    return try await holder(world) != before
                }
            }
            try await eventually("everything is consumed") { try await world.consumedCount() >= 300 }
            for aggregate in 0..<5 {
                #expect(try await world.consumed("a\(aggregate)") == (0..<300).filter { $0 % 5 == aggregate })
            }
        }
    }

    /// The replica that reads, once there is one.
    private func holder(_ world: World) async throws -> EventID {
        var holder: EventID?
        try await eventually("a replica reads") {
            holder = try await world.sink.query("SELECT holder FROM consumer_lease").first?.decode(as: EventID.self)
            return holder != nil
        }
        return try #require(holder)
    }
}
