import Database
import Kernel
import TestSupport
import Testing

@Suite struct TimeLimitTests {
    @Test func `the server stops what takes too long`() async throws {
        try await PostgresServer.shared().withDatabase {
            // The schema is made within it too.
            $0.statementTimeout = .seconds(2)
        } _: { (database) async throws in
            #expect(await code { try await database.query("SELECT pg_sleep(60)") } == .statementTimeout)
            let inTransaction = await code {
                try await database.transaction { try await $0.query("SELECT pg_sleep(60)") }
            }
            #expect(inTransaction == .statementTimeout)
            #expect(try await database.value("SELECT 1", as: Int.self) == 1)
            #expect(database.health.connectionsLost == 0)
        }
    }

    @Test func `a cancelled statement is stopped on the server`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            let task = Task { try await database.query("SELECT pg_sleep(60), 'cancel me'") }
            try await eventually { try await isRunning("%60), 'cancel me'%", database) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await eventually { try await !isRunning("%60), 'cancel me'%", database) }
            #expect(database.health.connectionsLost == 0)
        }
    }

    @Test func `a cancelled transaction is rolled back and its connection used again`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 2) { database in
            try await database.execute("CREATE TABLE t (n int)")
            for _ in 0..<10 {
                let task = Task {
                    try await database.transaction { sql in
                        try await sql.execute("INSERT INTO t VALUES (1)")
                        return try await sql.query("SELECT pg_sleep(60), 'roll me back'").count
                    }
                }
                try await eventually { try await isRunning("%60), 'roll me back'%", database) }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                // A cancellation that comes late must not hit what runs next.
                for _ in 0..<20 {
                    #expect(try await database.transaction { try await $0.value("SELECT 1", as: Int.self) } == 1)
                }
            }
            #expect(try await database.value("SELECT count(*) FROM t", as: Int.self) == 0)
            #expect(database.health.connectionsLost == 0)
        }
    }

    @Test func `cancelling one read does not disturb its neighbours on the connection`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) { database in
            try await whileBlocked(database) { stuck, release in
                let cancelled = (0..<10).map { n in Task { try await database.value("SELECT \(n)", as: Int.self) } }
                let kept = (0..<10).map { n in Task { try await database.value("SELECT \(n) + 1", as: Int.self) } }
                try await eventually { database.health.inFlight == 21 }
                for task in cancelled { task.cancel() }
                for task in cancelled { await #expect(throws: CancellationError.self) { try await task.value } }
                await release()
                for (n, task) in kept.enumerated() { #expect(try await task.value == n + 1) }
                #expect(try await stuck.value == 7)
            }
        }
    }

    @Test func `a cancelled change that cannot be stopped reports its outcome`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) { database in
            try await database.execute("CREATE TABLE t (n int)")
            try await whileBlocked(database) { stuck, release in
                let change = Task { try await database.execute("INSERT INTO t VALUES (1)") }
                try await eventually { database.health.inFlight == 2 }
                change.cancel()
                await release()
                #expect(try await stuck.value == 7)
                let changed = try await database.value("SELECT count(*) FROM t", as: Int.self)
                do {
                    let answer = try await change.value
                    #expect(answer == 1 && changed == 1)
                } catch is CancellationError {
                    // The loop looked in just when its turn had come: it could be stopped after all, and then nothing has changed.
                    #expect(changed == 0)
                }
            }
        }
    }

    @Test func `cancelling a transaction does not hit the statement of another ahead of it`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) { database in
            try await whileBlocked(database) { stuck, release in
                let transaction = Task { try await database.transaction { try await $0.query("SELECT pg_sleep(60)").count } }
                try await eventually { database.health.leased == 1 }
                transaction.cancel()
                await release()
                await #expect(throws: CancellationError.self) { try await transaction.value }
                #expect(try await stuck.value == 7)
            }
            #expect(database.health.connectionsLost == 0)
        }
    }

    @Test func `what waits for a connection can be cancelled`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) { database in
            let (begun, done) = (Barrier(2), Barrier(2))
            let holder = Task {
                try await database.transaction { sql in
                    try await sql.execute("SELECT 1")
                    await begun.arrive()
                    await done.arrive()
                }
            }
            await begun.arrive()
            let statement = Task { try await database.query("SELECT 2") }
            let transaction = Task { try await database.transaction { try await $0.query("SELECT 3") } }
            try await eventually { database.health.waiting == 2 }
            statement.cancel()
            transaction.cancel()
            await #expect(throws: CancellationError.self) { try await statement.value }
            await #expect(throws: CancellationError.self) { try await transaction.value }
            await #expect(throws: CancellationError.self) {
                try await Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await database.query("SELECT 4")
                }.value
            }
            await done.arrive()
            try await holder.value
            try await eventually { database.health.waiting == 0 && database.health.leased == 0 }
            #expect(try await database.value("SELECT 5", as: Int.self) == 5)
        }
    }

    @Test func `more than may wait fails at once`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) {
            PostgresServer.patient(&$0)
            $0.maximumWaiting = 5
            $0.maximumInFlight = 1
        } _: { database in
            try await whileBlocked(database) { stuck, release in
                let refused = Counter()
                let tasks = (0..<50).map { number in
                    Task {
                        let code = await code { try await database.query("SELECT \(number)") }
                        if code == .overloaded { await refused.add() }
                        return code
                    }
                }
                // While nothing is answered.
                try await eventually { await refused.count == 45 }
                await release()
                var codes: [DatabaseError.Code?] = []
                for task in tasks { codes.append(await task.value) }
                #expect(codes.filter { $0 == nil }.count == 5 && codes.filter { $0 == .overloaded }.count == 45)
                #expect(try await stuck.value == 7)
            }
        }
    }

    @Test func `stop lets what runs finish and refuses the rest`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 3) { database in
            try await database.execute("CREATE TABLE t (n int)")
            let (begun, done) = (Barrier(2), Barrier(2))
            let transaction = Task {
                try await database.transaction { sql in
                    try await sql.execute("INSERT INTO t VALUES (1)")
                    await begun.arrive()
                    await done.arrive()
                    return try await sql.execute("INSERT INTO t VALUES (2)")
                }
            }
            await begun.arrive()
            try await whileBlocked(database) { stuck, release in
                let stop = Task { await database.stop() }
                try await eventually { await code { try await database.query("SELECT 1") } == .stopped }
                await done.arrive()
                #expect(try await transaction.value == 1)
                await release()
                #expect(try await stuck.value == 7)
                await stop.value
            }
            #expect(database.health == DatabaseHealth())
            #expect(await code { try await database.transaction { try await $0.query("SELECT 1") } } == .stopped)
            #expect(await code { try await database.start() } == .stopped)
        }
    }

    private func isRunning(_ pattern: String, _ database: Database) async throws -> Bool {
        try await database.value(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE \(pattern) AND pid <> pg_backend_pid()",
            as: Int.self
        ) > 0
    }
}
