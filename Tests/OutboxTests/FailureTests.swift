import Bus
import Database
import Kernel
import Synchronization
import TestSupport
import Testing
import Wire

@testable import Outbox

struct Refused: Error {}

@Suite struct RetryWatchTests {
    @Test func `a feature is looked at all the time for ten seconds after a failure`() {
        let watch = RetryWatch()
        let start = ContinuousClock.now
        #expect(!watch.isBusy(at: start))
        watch.somethingWaits(at: start)
        #expect(watch.isBusy(at: start.advanced(by: .seconds(10))))
        #expect(!watch.isBusy(at: start.advanced(by: .milliseconds(10_001))))
    }

    @Test func `what a process before this one put aside is tried within a second or two`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let first = try await world.sink { _, _ in throw Refused() }
            try await emitter.emit("a", 0..<1)
            try await eventually("it is put aside") {
                try await !world.sink.query("SELECT 1 FROM event_retry").isEmpty
            }
            await first.stop()
            _ = try await world.sink()
            try await eventually("it is consumed") { try await world.consumedCount() == 1 }
        }
    }
}

@Suite("An event whose handler fails", .serialized, .timeLimit(.minutes(10)))
struct FailureTests {
    @Test func `is tried again, its followers stay behind it, and others go on`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let failures = Atomic(3)
            _ = try await world.sink { ping, _ in
                guard ping.aggregateID == "bad", ping.number == 1 else { return }
                if failures.subtract(1, ordering: .relaxed).newValue >= 0 { throw Refused() }
            }
            try await emitter.emit("bad", 0..<10)
            try await emitter.emit("good", 0..<10)
            try await eventually("everything is consumed") { try await world.consumedCount() >= 20 }
            #expect(try await world.consumed("bad") == Array(0..<10))
            #expect(try await world.consumed("good") == Array(0..<10))
        }
    }

    @Test func `is parked after so many attempts, holds up only its own aggregate, and goes on when redriven`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let isMended = Atomic(false)
            let sink = try await world.sink(maxAttempts: 3) { ping, _ in
                if ping.aggregateID == "bad", ping.number == 0, !isMended.load(ordering: .relaxed) { throw Refused() }
            }
            try await emitter.emit("bad", 0..<5)
            try await emitter.emit("good", 0..<5)
            try await eventually("it is parked") { try await sink.consumer.parked.list().count == 1 }
            try await eventually("the good is consumed") { try await world.consumed("good").count == 5 }
            let parked = try await sink.consumer.parked.list()
            #expect(parked.first?.attempts == 3)
            #expect(parked.first?.aggregate == "bad")
            #expect(parked.first?.lastError.contains("Refused") == true)
            #expect(try await world.consumed("bad") == [])
            try await eventually("nothing is under way") { try await sink.consumer.backlog() == 0 }
            isMended.store(true, ordering: .relaxed)
            let id = try #require(parked.first?.id)
            let waiting = try await world.sink.query("SELECT event_id FROM event_retry WHERE parked_at IS NULL LIMIT 1")
            let other = try #require(waiting.first).decode(as: EventID.self)
            #expect(try await sink.consumer.parked.redrive(other) == 0, "it is not parked, it waits behind")
            #expect(try await sink.consumer.parked.redrive(id) == 1)
            try await eventually("the bad is consumed") { try await world.consumed("bad").count == 5 }
            #expect(try await world.consumed("bad") == Array(0..<5))
            #expect(try await sink.consumer.parked.list().isEmpty)
            #expect(try await sink.consumer.parked.redrive() == 0)
        }
    }

    @Test func `that cannot be read is parked like any other`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let sink = try await world.sink(maxAttempts: 2)
            try await emitter.work.run(trace: "", requestID: "") { try await $0.emit(Garbage("bad")) }
            try await emitter.emit("good", 0..<3)
            try await eventually("it is parked") { try await sink.consumer.parked.list().count == 1 }
            try await eventually("the good is consumed") { try await world.consumed("good") == [0, 1, 2] }
        }
    }

    @Test func `because transactions cannot be serialised is waited with, not put aside`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let failures = Atomic(12)
            _ = try await world.sink { _, work in
                guard failures.subtract(1, ordering: .relaxed).newValue >= 0 else { return }
                _ = try await work.sql.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$")
            }
            try await emitter.emit("a", 0..<3)
            try await eventually("everything is consumed") { try await world.consumedCount() >= 3 }
            #expect(try await world.consumed("a") == [0, 1, 2])
            let retries = try await world.sink.query("SELECT last_value, is_called FROM event_retry_position_seq")
            #expect(try retries.first?.get("is_called", as: Bool.self) == false)
        }
    }

    @Test func `An event that no broker could take fails its own transaction and leaves the outbox alone`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            _ = try await world.sink()
            await #expect(throws: ServiceError.self) {
                try await emitter.work.run(trace: "", requestID: "") { try await $0.emit(Ping("line\nbreak", 0)) }
            }
            #expect(try await emitter.relay.backlog() == 0)
            try await emitter.emit("a", [1])
            try await eventually("it is consumed") { try await world.consumed("a") == [1] }
        }
    }

    @Test func `What is purged cannot be replayed into an inbox that was purged too`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let sink = try await world.sink()
            try await emitter.emit("a", 0..<3)
            try await eventually("everything is consumed") { try await world.consumedCount() == 3 }
            try await eventually("everything is marked") { try await emitter.relay.backlog() == 0 }
            // Eight days later, replayed yesterday.
            try await world.source.execute("UPDATE outbox SET created_at = created_at - interval '8 days'")
            try await world.sink.execute("UPDATE inbox SET consumed_at = consumed_at - interval '8 days'")
            try await emitter.relay.purge()
            try await sink.relay.purge()
            #expect(try await emitter.relay.replay(since: .epoch) == 0)
            #expect(try await world.sink.query("SELECT 1 FROM inbox").count == 3)
            try await world.sink.execute("UPDATE inbox SET consumed_at = consumed_at - interval '8 days'")
            try await sink.relay.purge()
            #expect(try await world.sink.query("SELECT 1 FROM inbox").isEmpty)
        }
    }
}
