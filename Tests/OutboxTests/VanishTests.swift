import Kernel
import TestSupport
import Testing

@testable import Outbox

@Suite("A replica that vanishes with deliveries that it has not handled", .serialized, .timeLimit(.minutes(10)))
struct VanishTests {
    /// Emits 5 × 60 events, lets a replica consume some of them, and does `harm` to it.
    private func world(_ harm: (World, ConsumerProcess) async throws -> Void) async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            for name in 0..<5 { try await emitter.emit("a\(name)", 0..<60) }
            // Slow enough that it is not through before this process looks, however seldom that gets a processor.
            let victim = try await ConsumerProcess(world, delay: 50)
            do {
                try await eventually("it has begun") { try await world.consumedCount() >= 20 }
                try await harm(world, victim)
            } catch {
                await victim.end()
                throw error
            }
            await victim.end()
            for name in 0..<5 { #expect(try await world.consumed("a\(name)") == Array(0..<100)) }
        }
    }

    private func emitTheRest(_ world: World) async throws {
        let emitter = try await world.emitter(relays: false)
        for name in 0..<5 { try await emitter.emit("a\(name)", 60..<100) }
    }

    @Test func `killed: another one goes on, once and in order`() async throws {
        try await world { world, victim in
            await victim.end()
            #expect(try await world.consumedCount() < 300)
            _ = try await world.sink()
            try await emitTheRest(world)
            try await eventually("everything is consumed") { try await world.consumedCount() >= 500 }
        }
    }

    @Test func `frozen: another one goes on, once and in order, and when it wakes it does no harm`() async throws {
        try await world { world, victim in
            victim.freeze()
            let successor = try await world.sink()
            try await eventually("the other one consumes") { try await world.consumedCount() >= 300 }
            victim.wake()
            try await emitTheRest(world)
            try await eventually("everything is consumed") { try await world.consumedCount() >= 500 }
            // The frozen one takes its turn when the other has gone, and has nothing left to do.
            await successor.stop()
            try await eventually("it is the woken one's turn") {
                let rows = try await world.sink.query(
                    "SELECT holder <> \(successor.consumer.replica) AND held_until > clock_timestamp() FROM consumer_lease"
                )
                return try rows.first?.decode(as: Bool.self) ?? false
            }
            #expect(try await world.consumedCount() == 500)
        }
    }

    @Test func `woken while another one is in the middle: still once and in order`() async throws {
        try await world { world, victim in
            victim.freeze()
            let successor = try await world.sink { _, _ in try await Task.sleep(for: .milliseconds(10)) }
            let before = try await world.consumedCount()
            try await eventually("the other has begun") { try await world.consumedCount() >= before + 20 }
            victim.wake()
            try await emitTheRest(world)
            try await eventually("everything is consumed") { try await world.consumedCount() >= 500 }
            try await eventually("nothing is left") { try await successor.consumer.backlog() == 0 }
        }
    }

    @Test func `cut off from the broker alone: another one takes its turn`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let first = try await world.sink { _, _ in try await Task.sleep(for: .milliseconds(5)) }
            try await emitter.emit("a", 0..<100)
            try await eventually("it has begun") { try await world.consumedCount() >= 10 }
            await first.vanish()
            _ = try await world.sink()
            try await emitter.emit("a", 100..<150)
            try await eventually("everything is consumed") { try await world.consumedCount() >= 150 }
            #expect(try await world.consumed("a") == Array(0..<150))
        }
    }

    @Test func `stopped: its successor goes on at the very next event`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            let first = try await world.sink()
            try await emitter.emit("a", 0..<30)
            try await eventually("everything is consumed") { try await world.consumedCount() == 30 }
            await first.stop()
            // Whatever were read again would be consumed again now.
            try await world.sink.execute("TRUNCATE inbox")
            try await emitter.emit("a", 30..<35)
            _ = try await world.sink()
            try await eventually("the rest is consumed") { try await world.consumedCount() >= 35 }
            #expect(try await world.consumed("a") == Array(0..<35))
        }
    }
}
