import Database
import Kernel
import TestSupport
import Testing

@Suite struct FaultTests {
    @Test func `a killed server loses no acknowledged commit and the pool heals`() async throws {
        let server = try await PostgresServer.start()
        try await server.withDatabase {
            $0.acquireTimeout = .seconds(2)
            $0.maximumReconnectDelay = .milliseconds(200)
        } _: { database in
            try await database.execute("CREATE TABLE single (id bigint PRIMARY KEY)")
            try await database.execute("CREATE TABLE pair (id bigint PRIMARY KEY, half int)")
            let ledger = Ledger()
            let writers = (0..<16).map { writer in
                Task {
                    var number = writer * 1_000_000
                    while !Task.isCancelled {
                        number += 1
                        await ledger.write(number, writer % 2 == 0 ? .single : .pair, to: database)
                        _ = try? await database.query("SELECT id FROM single WHERE id = \(number)")
                    }
                }
            }
            for _ in 0..<3 {
                let before = await ledger.acknowledged.count
                try await eventually { await ledger.acknowledged.count > before + 200 && database.health.connections == 4 }
                let lost = database.health.connectionsLost
                await server.kill()
                try await eventually { database.health.connections == 0 && database.health.connectionsLost >= lost + 4 }
                #expect(!database.health.isAvailable)
                try await server.start()
                try await eventually { database.health.connections == 4 }
                #expect(database.health.failedAttempts == 0)
            }
            for writer in writers { writer.cancel() }
            for writer in writers { await writer.value }
            let stored = Set(
                try await database.query("SELECT id FROM single UNION ALL SELECT id FROM pair WHERE half = 2").map {
                    try $0.decode(as: Int.self)
                }
            )
            let (acknowledged, unknown, failed) = await (ledger.acknowledged, ledger.unknown, ledger.failed)
            #expect(acknowledged.isSubset(of: stored))
            // Whatever is there beyond that was reported as unknown, never as failed.
            #expect(stored.subtracting(acknowledged).isSubset(of: unknown))
            #expect(failed.isDisjoint(with: stored))
            let surprises = await ledger.surprises
            #expect(surprises.isEmpty, "\(surprises.prefix(3))")
        }
    }

    @Test func `a server that is away at the start is found when it comes`() async throws {
        let server = try await PostgresServer.start()
        await server.stop()
        var configuration = DatabaseConfiguration(connectionString: server.connectionString, schema: "public", poolSize: 3)
        configuration.acquireTimeout = .milliseconds(200)
        configuration.maximumReconnectDelay = .milliseconds(100)
        let database = Database(configuration, logger: PostgresServer.silence)
        try await database.start()
        #expect(!database.health.isAvailable)
        let error = try #require(await #expect(throws: DatabaseError.self) { try await database.query("SELECT 1") })
        #expect(error.code == .unavailable && error.isConnectionFailure)
        #expect(await code { try await database.transaction { try await $0.query("SELECT 1") } } == .unavailable)
        try await eventually { database.health.failedAttempts >= 2 }
        try await server.start()
        try await eventually { database.health.connections == 3 }
        #expect(try await database.value("SELECT 1", as: Int.self) == 1)
        await database.stop()
    }

    @Test func `a read is sent again when its connection is lost and a change is not`() async throws {
        // Connections of other tests are on this server: only those of this table are ended.
        try await PostgresServer.shared().withDatabase(poolSize: 2, adjust: PostgresServer.patient) { database in
            try await database.execute("CREATE TABLE resent (n int)")
            try await database.execute("INSERT INTO resent VALUES (1)")
            let (locked, done) = (Barrier(2), Barrier(2))
            // Another database holds the lock that both wait for.
            try await PostgresServer.shared().withDatabase { other in
                let table: Query = "\(identifier: database.schema).resent"
                let holder = Task {
                    try await other.transaction { sql in
                        try await sql.execute("LOCK TABLE \(table)")
                        await locked.arrive()
                        await done.arrive()
                    }
                }
                await locked.arrive()
                let read = Task { try await database.value("SELECT n FROM resent", as: Int.self) }
                try await other.untilSomeoneWaitsForALock("SELECT n FROM resent")
                #expect(try await terminate("SELECT n FROM resent%", other) == 1)
                try await eventually { database.health.connections == 2 && database.health.connectionsLost == 1 }
                try await other.untilSomeoneWaitsForALock("SELECT n FROM resent")
                let change = Task { await code { try await database.execute("UPDATE resent SET n = 4711") } }
                try await other.untilSomeoneWaitsForALock("UPDATE resent SET n = 4711")
                #expect(try await terminate("UPDATE resent SET n = 4711%", other) == 1)
                #expect(await change.value == .outcomeUnknown)
                await done.arrive()
                try await holder.value
                #expect(try await read.value == 1)
            }
            #expect(database.health.connectionsLost == 2)
            #expect(try await database.value("SELECT n FROM resent", as: Int.self) == 1)
        }
    }

    /// Ends the connections that wait for a lock with such a statement; returns how many.
    private func terminate(_ pattern: String, _ database: Database) async throws -> Int {
        try await database.value(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND query LIKE \(pattern) AND pid <> pg_backend_pid()
            """,
            as: Int.self
        )
    }

    @Test func `a transaction whose connection is lost before its commit is run again`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 2) { database in
            try await database.execute("CREATE TABLE t (n int)")
            let runs = Counter()
            try await database.transaction { sql in
                await runs.add()
                try await sql.execute("INSERT INTO t VALUES (1)")
                if await runs.count == 1 {
                    let pid = try await sql.value("SELECT pg_backend_pid()", as: Int.self)
                    try await database.execute("SELECT pg_terminate_backend(\(Int32(pid)))")
                    #expect(await code { try await sql.execute("INSERT INTO t VALUES (2)") } == .connectionLost)
                }
            }
            #expect(await runs.count == 2)
            #expect(try await database.value("SELECT count(*) FROM t", as: Int.self) == 1)
            let session = await code {
                try await database.withSession { session in
                    let pid = try await session.value("SELECT pg_backend_pid()", as: Int.self)
                    try await database.execute("SELECT pg_terminate_backend(\(Int32(pid)))")
                    try await session.execute("INSERT INTO t VALUES (3)")
                }
            }
            #expect(session == .connectionLost || session == .outcomeUnknown)
            try await eventually { database.health.connections == 2 }
        }
    }

    @Test func `a server that says nothing is given up`() async throws {
        let server = try await PostgresServer.start()
        try await server.withDatabase(poolSize: 2) {
            // Tables are made within it too.
            $0.statementTimeout = .seconds(2)
            $0.maximumReconnectDelay = .milliseconds(100)
            $0.connectTimeout = .seconds(2)
        } _: { database in
            try await database.execute("CREATE TABLE t (n int)")
            server.pause()
            #expect(await code { try await database.execute("INSERT INTO t VALUES (1)") } == .outcomeUnknown)
            server.resume()
            // What is left of the time in which it said nothing is refused at once.
            var count: Int?
            try await eventually {
                count = try? await database.value("SELECT count(*) FROM t", as: Int.self)
                return count != nil && database.health.connections == 2
            }
            #expect(count ?? 2 <= 1)
        }
    }

    @Test func `a transaction left idle is ended by the server`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 2) {
            $0.idleInTransactionTimeout = .milliseconds(50)
        } _: { (database) async throws in
            let outcome = await code {
                try await database.transaction(retries: 0) { sql in
                    try await sql.execute("SELECT 1")
                    try await eventually { database.health.connectionsLost == 1 }
                    try await sql.execute("SELECT 2")
                }
            }
            #expect(outcome == .connectionLost)
            #expect(try await database.value("SELECT 1", as: Int.self) == 1)
        }
    }

    @Test func `a database that is released ends its thread`() async throws {
        let server = try await PostgresServer.shared()
        var configuration = DatabaseConfiguration(connectionString: server.connectionString, schema: "public", poolSize: 1)
        configuration.applicationName = "abandoned"
        var database: Database? = Database(configuration, logger: PostgresServer.silence)
        try await database?.start()
        #expect(try await database?.query("SELECT 1").count == 1)
        database = nil
        try await server.withDatabase { other in
            try await eventually {
                try await other.value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'abandoned'", as: Int.self)
                    == 0
            }
        }
    }
}
