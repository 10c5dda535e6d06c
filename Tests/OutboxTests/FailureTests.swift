import Bus
import Database
import Kernel
import Outbox
import Synchronization
import TestSupport
import Testing
import Wire

struct Refused: Error {}

@Suite("An event whose handler fails", .serialized, .timeLimit(.minutes(3)))
struct FailureTests {
    @Test func `is tried again, its followers stay behind it, and others go on`() async throws {
        try await withWorld { world in
            let teller = try await world.teller()
            let failures = Atomic(3)
            _ = try await world.hearer { ping, _ in
                guard ping.aggregateID == "bad", ping.number == 1 else { return }
                if failures.subtract(1, ordering: .relaxed).newValue >= 0 { throw Refused() }
            }
            try await teller.tell("bad", 0..<10)
            try await teller.tell("good", 0..<10)
            try await eventually("everything is heard") { try await world.heardCount() >= 20 }
            #expect(try await world.heard("bad") == Array(0..<10))
            #expect(try await world.heard("good") == Array(0..<10))
        }
    }

    @Test func `is parked after so many attempts, holds up only its own aggregate, and goes on when redriven`() async throws {
        try await withWorld { world in
            let teller = try await world.teller()
            let isMended = Atomic(false)
            let hearer = try await world.hearer(maxAttempts: 3) { ping, _ in
                if ping.aggregateID == "bad", ping.number == 0, !isMended.load(ordering: .relaxed) { throw Refused() }
            }
            try await teller.tell("bad", 0..<5)
            try await teller.tell("good", 0..<5)
            try await eventually("it is parked") { try await hearer.consumer.parked.list().count == 1 }
            try await eventually("the good is heard") { try await world.heard("good").count == 5 }
            let parked = try await hearer.consumer.parked.list()
            #expect(parked.first?.attempts == 3)
            #expect(parked.first?.aggregate == "bad")
            #expect(parked.first?.lastError.contains("Refused") == true)
            #expect(try await world.heard("bad") == [])
            try await eventually("nothing is under way") { try await hearer.consumer.backlog() == 0 }
            isMended.store(true, ordering: .relaxed)
            let id = try #require(parked.first?.id)
            let waiting = try await world.hearer.query("SELECT event_id FROM event_retry WHERE parked_at IS NULL LIMIT 1")
            let other = try #require(waiting.first).decode(as: EventID.self)
            #expect(try await hearer.consumer.parked.redrive(other) == 0, "it is not parked, it waits behind")
            #expect(try await hearer.consumer.parked.redrive(id) == 1)
            try await eventually("the bad is heard") { try await world.heard("bad").count == 5 }
            #expect(try await world.heard("bad") == Array(0..<5))
            #expect(try await hearer.consumer.parked.list().isEmpty)
            #expect(try await hearer.consumer.parked.redrive() == 0)
        }
    }

    @Test func `that cannot be read is parked like any other`() async throws {
        try await withWorld { world in
            let teller = try await world.teller()
            let hearer = try await world.hearer(maxAttempts: 2)
            try await teller.work.run(trace: "", requestID: "") { try await $0.emit(Garbage("bad")) }
            try await teller.tell("good", 0..<3)
            try await eventually("it is parked") { try await hearer.consumer.parked.list().count == 1 }
            try await eventually("the good is heard") { try await world.heard("good") == [0, 1, 2] }
        }
    }

    @Test func `because transactions cannot be serialised is waited with, not put aside`() async throws {
        try await withWorld { world in
            let teller = try await world.teller()
            let failures = Atomic(12)
            _ = try await world.hearer { _, work in
                guard failures.subtract(1, ordering: .relaxed).newValue >= 0 else { return }
                _ = try await work.sql.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$")
            }
            try await teller.tell("a", 0..<3)
            try await eventually("everything is heard") { try await world.heardCount() >= 3 }
            #expect(try await world.heard("a") == [0, 1, 2])
            let retries = try await world.hearer.query("SELECT last_value, is_called FROM event_retry_position_seq")
            #expect(try retries.first?.get("is_called", as: Bool.self) == false)
        }
    }

    @Test func `An event that no broker could take fails its own transaction and leaves the outbox alone`() async throws {
        try await withWorld { world in
            let teller = try await world.teller()
            _ = try await world.hearer()
            await #expect(throws: ServiceError.self) {
                try await teller.work.run(trace: "", requestID: "") { try await $0.emit(Ping("line\nbreak", 0)) }
            }
            #expect(try await teller.relay.backlog() == 0)
            try await teller.tell("a", [1])
            try await eventually("it is heard") { try await world.heard("a") == [1] }
        }
    }

    @Test func `What is purged cannot be replayed into an inbox that forgot it`() async throws {
        try await withWorld { world in
            let teller = try await world.teller()
            let hearer = try await world.hearer()
            try await teller.tell("a", 0..<3)
            try await eventually("everything is heard") { try await world.heardCount() == 3 }
            try await eventually("everything is marked") { try await teller.relay.backlog() == 0 }
            // Eight days later, replayed yesterday.
            try await world.source.execute("UPDATE outbox SET created_at = created_at - interval '8 days'")
            try await world.hearer.execute("UPDATE inbox SET consumed_at = consumed_at - interval '8 days'")
            try await teller.relay.purge()
            try await hearer.relay.purge()
            #expect(try await teller.relay.replay(since: .epoch) == 0)
            #expect(try await world.hearer.query("SELECT 1 FROM inbox").count == 3)
            try await world.hearer.execute("UPDATE inbox SET consumed_at = consumed_at - interval '8 days'")
            try await hearer.relay.purge()
            #expect(try await world.hearer.query("SELECT 1 FROM inbox").isEmpty)
        }
    }
}
