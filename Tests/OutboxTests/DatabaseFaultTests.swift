import TestSupport
import Testing

@Suite("A database that is killed under traffic", .serialized, .timeLimit(.minutes(10)))
struct DatabaseFaultTests {
    /// What has happened by itself when it comes back after so long: nothing; the leases have run out.
    @Test(arguments: [Duration.zero, Replica.leaseLength + .milliseconds(500)])
    func `and restarted, twice: each event is handled once and in order`(outage: Duration) async throws {
        try await withWorld(ownPostgres: true) { world in
            let emitter = try await world.emitter()
            for _ in 0..<2 { _ = try await world.sink() }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for name in 0..<5 { tasks.addTask { try await world.emitSurely(emitter, "a\(name)", 0..<200) } }
                for round in 1...2 {
                    try await eventually("some are consumed") { try await world.consumedCount() >= round * 100 }
                    await world.postgres.kill()
                    try await Task.sleep(for: outage)
                    try await world.postgres.start()
                }
                try await tasks.waitForAll()
            }
            try await eventually("everything is consumed") { try await world.consumedCount() >= 1_000 }
            for name in 0..<5 {
                let consumed = try await world.consumed("a\(name)")
                #expect(consumed == Array(0..<200))
            }
        }
    }

    @Test func `a replica that is stopped while it is away, in the middle of what was delivered to another, ends at once`()
        async throws
    {
        try await withWorld(ownPostgres: true) { world in
            let emitter = try await world.emitter()
            let victim = try await ConsumerProcess(world, delay: 50)
            do {
                try await emitter.emit("a", 0..<100)
                try await eventually("it has begun") { try await world.consumedCount() >= 5 }
            } catch {
                await victim.end()
                throw error
            }
            await victim.end()
            let before = try await world.consumedCount()
            let successor = try await world.sink { _, _ in try await Task.sleep(for: .milliseconds(50)) }
            try await eventually("the other one is in the middle") { try await world.consumedCount() >= before + 5 }
            await world.postgres.kill()
            let start = ContinuousClock.now
            await successor.stop()
            #expect(ContinuousClock.now - start < .seconds(30))
            try await world.postgres.start()
            _ = try await world.sink()
            try await eventually("everything is consumed") { try await world.consumedCount() >= 100 }
            #expect(try await world.consumed("a") == Array(0..<100))
        }
    }
}
