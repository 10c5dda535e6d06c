import TestSupport
import Testing

@Suite("A database that is killed under traffic", .serialized, .timeLimit(.minutes(5)))
struct DatabaseFaultTests {
    /// What has happened by itself when it comes back after so long: nothing; the leases have run out.
    @Test(arguments: [Duration.zero, Replica.leaseLength + .milliseconds(500)])
    func `and restarted, twice: each event is handled once and in order`(outage: Duration) async throws {
        try await withWorld(ownPostgres: true) { world in
            let teller = try await world.teller()
            for _ in 0..<2 { _ = try await world.hearer() }
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for name in 0..<5 { tasks.addTask { try await world.tellSurely(teller, "a\(name)", 0..<200) } }
                for round in 1...2 {
                    try await eventually("some are heard") { try await world.heardCount() >= round * 100 }
                    await world.postgres.kill()
                    try await Task.sleep(for: outage)
                    try await world.postgres.start()
                }
                try await tasks.waitForAll()
            }
            try await eventually("everything is heard") { try await world.heardCount() >= 1_000 }
            for name in 0..<5 {
                let heard = try await world.heard("a\(name)")
                #expect(heard == Array(0..<200))
            }
        }
    }
}
