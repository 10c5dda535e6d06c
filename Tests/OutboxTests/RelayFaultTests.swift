import Bus
import Kernel
import Synchronization
import TestSupport
import Testing

@testable import Outbox

@Suite("What happens between the outbox and the broker", .serialized, .timeLimit(.minutes(10)))
struct RelayFaultTests {
    /// A relay that dies after the broker has an event and before its row is marked leaves the row as it was.
    private func markUnpublished(_ world: World, below number: Int) async throws {
        try await world.source.execute(
            "UPDATE outbox SET published_at = NULL WHERE split_part(convert_from(body, 'UTF8'), ':', 2)::int < \(number)"
        )
    }

    @Test func `A standby replica wakes the active one now and then, and does not answer its own calls`() async throws {
        try await withWorld { world in
            try await world.source.execute("UPDATE outbox_lease SET holder = gen_random_uuid(), held_until = 'infinity'")
            let calls = Mutex<[ContinuousClock.Instant]>([])
            let subscription = try world.bus.subscribe("relay.source.wake") { _ in calls.withLock { $0.append(.now) } }
            let emitter = try await world.emitter()
            try await emitter.emit("a", [0])
            try await eventually("it has called twenty times") { calls.withLock { $0.count >= 20 } }
            // Some four times each half second; by answering itself it did so within a tenth.
            let taken = calls.withLock { $0[0].duration(to: $0[19]) }
            #expect(taken > .seconds(1))
            try await world.source.execute("UPDATE outbox_lease SET held_until = '-infinity'")
            try await eventually("it relays") { try await emitter.relay.backlog() == 0 }
            subscription.cancel()
        }
    }

    @Test func `An event that leaves again, because its publishing was not noted, is dropped by the broker`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            _ = try await world.sink()
            try await emitter.emit("a", 0..<50)
            try await eventually("everything is consumed") { try await world.consumedCount() == 50 }
            try await eventually("all left") { try await emitter.relay.backlog() == 0 }
            try await markUnpublished(world, below: 30)
            try await eventually("they left again") { try await emitter.relay.backlog() == 0 }
            let kept = try await JetStream(connection: world.bus).streamInfo("EVT_SOURCE").messages
            #expect(kept == 50)
            try await emitter.emit("a", 50..<60)
            try await eventually("the rest is consumed") { try await world.consumedCount() >= 60 }
            #expect(try await world.consumed("a") == Array(0..<60))
        }
    }

    @Test func `An event that leaves again after the broker has dropped its id comes twice, and has one effect in its place`()
        async throws
    {
        try await withWorld(keepsStreams: false) { world in
            let jetStream = JetStream(connection: world.bus)
            var briefDuplicates = World.stream
            briefDuplicates.duplicateWindow = .milliseconds(100)
            try await jetStream.ensureStream(briefDuplicates)
            let emitter = try await world.emitter()
            let sink = try await world.sink()
            for name in ["a", "b"] { try await emitter.emit(name, 0..<50) }
            try await eventually("everything is consumed") { try await world.consumedCount() == 100 }
            try await eventually("all left") { try await emitter.relay.backlog() == 0 }
            // Until the broker has dropped the ids of all.
            var kept = 100
            try await eventually("they are kept twice") {
                try await markUnpublished(world, below: 30)
                try await eventually("they left again") { try await emitter.relay.backlog() == 0 }
                kept = try await jetStream.streamInfo("EVT_SOURCE").messages
                return kept >= 160
            }
            for name in ["a", "b"] { try await emitter.emit(name, 50..<60) }
            try await eventually("everything is passed") {
                let info = try await jetStream.streamInfo("EVT_SOURCE")
                let backlog = try await sink.consumer.backlog()
                return info.messages >= kept + 20 && backlog == 0
            }
            for name in ["a", "b"] { #expect(try await world.consumed(name) == Array(0..<60)) }
        }
    }

    @Test func `An event whose row became visible late leaves before its followers, also when others around it leave again`()
        async throws
    {
        try await withWorld { world in
            let emitter = try await world.emitter(relays: false)
            _ = try await world.sink()
            #expect(try await emitter.relay.relayBatch() == 0, "it knows its stream from before the first event")
            // A transaction may commit after one that has a later place. Of b, a, c, a the broker has b and c, and it was not noted.
            for (name, number) in [("b", 0), ("a", 0), ("c", 0), ("a", 1)] { try await emitter.emit(name, [number]) }
            try await world.source.execute("UPDATE outbox SET published_at = now() WHERE aggregate = 'a'")
            try await eventually("the others left") { try await emitter.relay.relayBatch() == 2 }
            try await world.source.execute("UPDATE outbox SET published_at = NULL")
            try await eventually("all left") {
                _ = try? await emitter.relay.relayBatch()
                return try await emitter.relay.backlog() == 0
            }
            try await eventually("all are consumed") { try await world.consumedCount() == 4 }
            #expect(try await world.consumed("a") == [0, 1])
        }
    }

    @Test func `More events than one look takes leave in order also while a transaction stays open`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            _ = try await world.sink()
            let open = Task {
                try await world.source.withSession(statementTimeout: .minutes(5)) {
                    _ = try await $0.query("SELECT pg_current_xact_id(), pg_sleep(290)")
                }
            }
            func isOpen() async throws -> Bool {
                try await !world.source.query(
                    "SELECT 1 FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND query LIKE '%pg_sleep(290)' AND pid <> pg_backend_pid()"
                ).isEmpty
            }
            try await eventually("it is open") { try await isOpen() }
            try await emitter.emit("a", 0..<3_500)
            try await eventually("all left") { try await emitter.relay.backlog() == 0 }
            #expect(try await isOpen(), "it is still open")
            open.cancel()
            try await eventually("all are consumed") { try await world.consumedCount() == 3_500 }
            #expect(try await world.consumed("a") == Array(0..<3_500))
        }
    }

    @Test func `Of many thousand kept events all old ones are purged, and no other`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter(relays: false)
            try await world.source.execute(
                """
                INSERT INTO outbox (id, aggregate, subject, trace, request_id, body, created_at, published_at)
                SELECT gen_random_uuid(), 'a', 'evt.source.v1.Numbered', '', '', '', now() - interval '8 days', now() - interval '8 days'
                FROM generate_series(1, 12000)
                """
            )
            try await world.source.execute(
                """
                INSERT INTO outbox (id, aggregate, subject, trace, request_id, body, created_at, published_at)
                SELECT gen_random_uuid(), 'young' || i, 'evt.source.v1.Numbered', '', '', '', now() - interval '6 days',
                    CASE WHEN i <= 3 THEN now() END FROM generate_series(1, 5) AS i
                """
            )
            try await world.source.execute(
                """
                INSERT INTO inbox (event_id, feature, consumed_at) SELECT gen_random_uuid(), 'all', now() - make_interval(days => CASE WHEN i > 2 THEN 16 ELSE 14 END)
                FROM generate_series(1, 12000) AS i
                """
            )
            try await emitter.relay.purge()
            let left = try await world.source.query("SELECT aggregate FROM outbox ORDER BY aggregate")
            #expect(try left.map { try $0.decode(as: String.self) } == (1...5).map { "young\($0)" })
            #expect(try await world.source.query("SELECT 1 FROM inbox").count == 2)
        }
    }

    @Test func `A broker that refuses events for a while: they wait visibly, and then leave in order`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            _ = try await world.sink()
            try await emitter.emit("a", 0..<10)
            try await eventually("they are consumed") { try await world.consumedCount() == 10 }
            try await world.limitEvents(toBytes: 1)
            for number in 10..<20 { for name in ["a", "b", "c"] { try await emitter.emit(name, [number]) } }
            try await eventually("the lag shows") {
                let lag = try await emitter.relay.lag()
                return lag.waiting == 30 && lag.oldestAge >= .seconds(1)
            }
            #expect(try await world.consumedCount() == 10)
            try await world.limitEvents(toBytes: -1)
            try await eventually("everything is consumed") { try await world.consumedCount() >= 40 }
            #expect(try await world.consumed("a") == Array(0..<20))
            for name in ["b", "c"] { #expect(try await world.consumed(name) == Array(10..<20)) }
            try await eventually("nothing waits") {
                try await emitter.relay.lag() == OutboxLag(waiting: 0, oldestAge: .zero)
            }
        }
    }

    @Test func `One event that the broker refuses holds up its own aggregate only`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            _ = try await world.sink()
            let long = String(repeating: "x", count: 2_000)
            try await world.limitEvents(toBytes: 1_500)
            for number in 0..<10 { for name in ["a", long, "b"] { try await emitter.emit(name, [number]) } }
            try await eventually("the others are consumed") { try await world.consumedCount() >= 20 }
            for name in ["a", "b"] { #expect(try await world.consumed(name) == Array(0..<10)) }
            // What was consumed may not be noted as published yet.
            try await eventually("only its events wait") { try await emitter.relay.backlog() == 10 }
            try await world.limitEvents(toBytes: -1)
            try await eventually("it is consumed too") { try await world.consumedCount() >= 30 }
            #expect(try await world.consumed(long) == Array(0..<10))
        }
    }

    @Test func `A broker without the stream takes nothing, and gets everything when it has one again`() async throws {
        try await withWorld(keepsStreams: false) { world in
            let emitter = try await world.emitter()
            _ = try await world.sink()
            try await emitter.emit("a", 0..<10)
            try await eventually("they are consumed") { try await world.consumedCount() == 10 }
            try await eventually("all left") { try await emitter.relay.backlog() == 0 }
            try await world.ask("STREAM.DELETE.EVT_SOURCE")
            try await emitter.emit("a", 10..<40)
            try await eventually("the lag shows") { try await emitter.relay.lag().oldestAge >= .seconds(1) }
            #expect(try await emitter.relay.lag().waiting == 30)
            try await world.provision()
            try await eventually("everything is consumed") { try await world.consumedCount() >= 40 }
            #expect(try await world.consumed("a") == Array(0..<40))
        }
    }
}
