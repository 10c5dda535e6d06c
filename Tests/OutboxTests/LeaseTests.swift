import Database
import Kernel
import TestSupport
import Testing

@testable import Outbox

@Suite("Who takes a lease over, and when", .serialized, .timeLimit(.minutes(10)))
struct LeaseTests {
    /// No test waits for so long.
    private static let endless = Duration.seconds(36_000)

    private func holder(_ world: World) async throws -> ID<EventConsumer>? {
        try await world.sink.query("SELECT holder FROM consumer_lease").first?.decode(as: ID<EventConsumer>.self)
    }

    /// The connections that hold a lock.
    private func sessions(_ world: World, _ key: Int64) async throws -> [Int32] {
        try await world.sink.query(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND (classid::bigint << 32) | objid::bigint = \(key)"
        ).map { try $0.decode(as: Int32.self) }
    }

    @Test func `a replica that shows that it lives keeps its lease`()
        async throws
    {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let first = try await world.sink(leaseLength: Self.endless)
            try await first.showPresence()
            try await emitter.emit("a", 0..<10)
            try await eventually("the lease shows whose it is") {
                let rows = try await world.sink.query("SELECT 1 FROM consumer_lease WHERE presence = \(first.presence.key)")
                return !rows.isEmpty
            }
            let second = try await world.sink(leaseLength: Self.endless)
            try await second.showPresence()
            for number in 10..<40 {
                try await emitter.emit("a", [number])
                try await eventually("it is consumed") { try await world.consumedCount() > number }
                #expect(try await holder(world) == first.consumer.replica)
            }
            #expect(try await world.consumed("a") == Array(0..<40))
        }
    }

    @Test func `a lock that is free frees the lease, and no other row`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            // Of a replica that died without a lock to show, of one that died with one.
            try await world.sink.execute(
                """
                INSERT INTO consumer_lease (feature, stream, holder, held_until, presence)
                VALUES ('all', 'EVT_SOURCE', gen_random_uuid(), 'infinity', NULL)
                """
            )
            let replica = try await world.sink()
            try await emitter.emit("a", 0..<10)
            try await eventually("the broker has them") { try await emitter.relay.backlog() == 0 }
            let lease = ConsumerLease(
                feature: "all",
                stream: "EVT_SOURCE",
                holder: replica.consumer.replica,
                database: world.sink,
                presence: nil,
                length: .seconds(1)
            )
            #expect(try await lease.acquire() == nil)
            #expect(try await world.consumedCount() == 0)
            try await world.sink.execute("UPDATE consumer_lease SET presence = 4711")
            try await eventually("everything is consumed") { try await world.consumedCount() == 10 }
            #expect(try await holder(world) == replica.consumer.replica)
        }
    }

    @Test func `the relay of a replica that died is taken over before its lease runs out`() async throws {
        try await withWorld { world in
            try await world.source.execute(
                "UPDATE outbox_lease SET holder = gen_random_uuid(), held_until = 'infinity', presence = 4711"
            )
            let emitter = try await world.emitter()
            try await emitter.emit("a", 0..<10)
            try await eventually("it relays") { try await emitter.relay.backlog() == 0 }
        }
    }

    @Test func `the relay of a replica that is cut off from the broker alone is taken over, although it shows that it lives`()
        async throws
    {
        try await withWorld { world in
            let first = try await world.emitter(leaseLength: .seconds(6))
            try await first.showPresence()
            try await first.emit("a", 0..<10)
            try await eventually("it relays") { try await first.relay.backlog() == 0 }
            await first.vanish()
            let second = try await world.emitter(leaseLength: .seconds(6))
            try await second.showPresence()
            for start in stride(from: 10, to: 40, by: 10) {
                // Whichever of the two has committed them.
                try await (start == 20 ? first : second).emit("a", start..<(start + 10))
                try await eventually("the other one relays") { try await second.relay.backlog() == 0 }
            }
            _ = try await world.sink()
            try await eventually("everything is consumed") { try await world.consumedCount() >= 40 }
            #expect(try await world.consumed("a") == Array(0..<40))
        }
    }

    @Test func `a replica shows itself again after its connection was ended`() async throws {
        try await withWorld { world in
            let replica = try await world.sink()
            try await replica.showPresence()
            let key = replica.presence.key
            let first = try #require(try await sessions(world, key).first)
            try await world.sink.execute("SELECT pg_terminate_backend(\(first))")
            try await eventually("it shows itself by another connection") {
                let now = try await sessions(world, key)
                return now.count == 1 && now != [first] && replica.presence.shown == key
            }
            await replica.stop()
            #expect(replica.presence.shown == nil)
            try await eventually("the server has ended its session") { try await sessions(world, key).isEmpty }
        }
    }

    @Test func `of a process that is frozen the server ends the connection that shows it`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let victim = try await ConsumerProcess(world, delay: 0)
            do {
                try await emitter.emit("a", 0..<20)
                try await eventually("it has the lease, and shows it") {
                    try await !world.sink.query("SELECT 1 FROM consumer_lease WHERE presence IS NOT NULL").isEmpty
                }
                try await eventually("everything is consumed") { try await world.consumedCount() == 20 }
                victim.freeze()
                let successor = try await world.sink(leaseLength: Self.endless)
                try await eventually("another took the lease") { try await holder(world) == successor.consumer.replica }
                try await emitter.emit("a", 20..<40)
                try await eventually("it consumes") { try await world.consumedCount() == 40 }
                victim.wake()
                try await emitter.emit("a", 40..<60)
                try await eventually("everything is consumed") { try await world.consumedCount() >= 60 }
            } catch {
                await victim.end()
                throw error
            }
            await victim.end()
            #expect(try await world.consumed("a") == Array(0..<60))
        }
    }
}
