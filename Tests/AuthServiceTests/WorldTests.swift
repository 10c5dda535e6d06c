import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct WorldTests {
    @Test func `a world that has gone keeps no connection to the server that all tests share`() async throws {
        func connections(_ name: String) async throws -> Int {
            try await PostgresServer.shared().withDatabase(poolSize: 1) { database in
                try await database.query("SELECT 1 FROM pg_stat_activity WHERE datname = \(name)").count
            }
        }
        var name = ""
        do {
            let world = try await World(travelling: true)
            try await world.addReplica()
            name = try #require(
                await world.database.query("SELECT current_database()::text").first?.decode(as: String.self)
            )
            #expect(try await connections(name) > 0)
            withExtendedLifetime(world) {}
        }
        try await eventually("its connections have ended") { try await connections(name) == 0 }
    }
}
