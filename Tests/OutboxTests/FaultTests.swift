import Bus
import Database
import Foundation
import Kernel
import Outbox
import Synchronization
import TestSupport
import Testing

@Suite("Each event has its effect exactly once and in order", .serialized, .timeLimit(.minutes(10)))
struct FaultTests {
    @Test func `Two relays and two consumers, one of which stops in between, keep the order of each aggregate`() async throws {
        try await withWorld { world in
            let emitters = [try await world.emitter(), try await world.emitter()]
            let first = try await world.sink()
            _ = try await world.sink()
            for start in stride(from: 0, to: 60, by: 20) {
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for name in 0..<5 {
                        tasks.addTask { try await emitters[name % 2].emit("a\(name)", start..<(start + 20)) }
                    }
                    try await tasks.waitForAll()
                }
                if start == 20 { await first.stop() }
            }
            try await eventually("everything is consumed") { try await world.consumedCount() >= 300 }
            for name in 0..<5 { #expect(try await world.consumed("a\(name)") == Array(0..<60)) }
        }
    }

    @Test func `A broker killed under traffic loses and doubles nothing`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            _ = try await world.sink()
            let emitting = Task { try await emitter.emit("a", 0..<400) }
            for round in 1...3 {
                try await eventually("some are consumed") { try await world.consumedCount() >= round * 20 }
                await world.nats.kill()
                try await world.nats.start()
            }
            try await emitting.value
            try await eventually("everything is consumed") { try await world.consumedCount() >= 400 }
            #expect(try await world.consumed("a") == Array(0..<400))
        }
    }

    @Test func `A replay reaches a consumer that lost its inbox, in order`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            _ = try await world.sink()
            try await emitter.emit("a", 0..<30)
            try await eventually("everything is consumed") { try await world.consumedCount() >= 30 }
            // What was consumed may not be noted as published yet, and only what is noted is replayed.
            try await eventually("all left") { try await emitter.relay.backlog() == 0 }
            try await world.sink.execute("TRUNCATE consumed, inbox")
            #expect(try await emitter.relay.replay(since: SystemClock.now() + .hours(1)) == 0)
            #expect(try await emitter.relay.replay(since: .epoch) == 30)
            try await eventually("everything is consumed again") { try await world.consumedCount() >= 30 }
            #expect(try await world.consumed("a") == Array(0..<30))
        }
    }

    @Test func `A broker that comes back without its disk gets its stream and consumers anew`() async throws {
        try await withWorld { world in
            let emitter = try await world.emitter()
            _ = try await world.sink()
            try await emitter.emit("a", 0..<5)
            try await eventually("everything is consumed") { try await world.consumedCount() >= 5 }
            await world.nats.kill()
            try FileManager.default.removeItem(at: world.nats.files.appendingPathComponent("store"))
            try await world.nats.start()
            try await emitter.emit("a", 5..<10)
            try await eventually("the rest is consumed") { try await world.consumedCount() >= 10 }
            #expect(try await world.consumed("a") == Array(0..<10))
        }
    }

    @Test func `A replica that stops leaves its lease and sends what waits`() async throws {
        try await withWorld { world in
            let first = try await world.emitter()
            _ = try await world.sink()
            try await first.emit("a", [0])
            try await eventually("it is consumed") { try await world.consumedCount() == 1 }
            let second = try await world.emitter(relays: false)
            try await second.emit("a", 1..<500)
            await first.stop()
            // At once: the lease of the first is not waited for.
            await second.relay.finish()
            #expect(try await second.relay.backlog() == 0)
            let free = try await world.source.query("SELECT held_until < clock_timestamp() FROM outbox_lease")
            let isFree = try #require(free.first).decode(as: Bool.self)
            #expect(isFree)
        }
    }
}
