import Database
import Kernel
import TestSupport
import Testing

@Suite struct TransactionTests {
    private struct Changed: Error, Equatable {}

    @Test func `a named lock is held until the transaction ends and by schema`() async throws {
        let server = try await PostgresServer.shared()
        try await server.withDatabase { one in
            try await server.withDatabase { other in
                try await one.transaction { holder in
                    try await holder.lock(named: "a")
                    try await other.transaction { try await $0.lock(named: "a") }
                    try await one.transaction { try await $0.lock(named: "b") }
                    let refused = await #expect(throws: DatabaseError.self) {
                        try await one.transaction {
                            try await $0.execute("SET LOCAL lock_timeout = 1")
                            try await $0.lock(named: "a")
                        }
                    }
                    #expect(refused?.code == .lockTimeout)
                }
                try await one.transaction {
                    try await $0.execute("SET LOCAL lock_timeout = 1")
                    try await $0.lock(named: "a")
                }
            }
        }
    }

    @Test func `commits when the body returns and rolls back when it throws`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await database.execute("CREATE TABLE t (n int)")
            let result = try await database.transaction { sql in
                try await sql.execute("INSERT INTO t VALUES (1), (2)")
                #expect(try await database.value("SELECT count(*) FROM t", as: Int.self) == 0)
                return try await sql.value("SELECT count(*) FROM t", as: Int.self)
            }
            #expect(result == 2)
            await #expect(throws: Changed.self) {
                try await database.transaction { sql in
                    try await sql.execute("DELETE FROM t")
                    throw Changed()
                }
            }
            #expect(try await database.value("SELECT count(*) FROM t", as: Int.self) == 2)
            #expect(try await database.transaction { _ in 7 } == 7)
            try await eventually { database.health.leased == 0 }
        }
    }

    @Test func `statements started together run in order and a failure stops the rest`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await database.execute("CREATE TABLE t (n int PRIMARY KEY)")
            try await database.transaction { sql in
                let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                    for n in [1, 2] { group.addTask { try await sql.execute("INSERT INTO t VALUES (\(n))") } }
                    return try await group.reduce(0, +)
                }
                #expect(sum == 2)
            }
            let swallowed = await code {
                try await database.transaction { sql in
                    #expect(await code { try await sql.execute("INSERT INTO t VALUES (1)") } == .uniqueViolation)
                    #expect(await code { try await sql.execute("INSERT INTO t VALUES (3)") } == .transactionAborted)
                }
            }
            #expect(swallowed == .transactionAborted)
            #expect(try await database.value("SELECT count(*) FROM t", as: Int.self) == 2)
            // The connection is as good as before.
            try await database.transaction { _ = try await $0.execute("INSERT INTO t VALUES (3)") }
            #expect(database.health.connectionsLost == 0)
        }
    }

    @Test(arguments: [Isolation.serializable, .repeatableRead]) func `serialization failures are run again until all succeed`(
        isolation: Isolation
    ) async throws {
        try await PostgresServer.shared().withDatabase(adjust: PostgresServer.patient) { database in
            try await database.execute("CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)")
            try await database.execute("INSERT INTO account VALUES (1, 0)")
            let runs = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        let counter = Counter()
                        try await database.transaction(isolation: isolation, retries: 50) { sql in
                            await counter.add()
                            let balance: Int = try await sql.value("SELECT balance FROM account WHERE id = 1")
                            try await sql.execute("UPDATE account SET balance = \(balance + 1) WHERE id = 1")
                        }
                        return await counter.count
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(try await database.value("SELECT balance FROM account", as: Int.self) == 40)
            #expect(runs >= 40)
        }
    }

    @Test func `a deadlock is broken and both succeed`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 4) { database in
            try await database.execute("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL)")
            try await database.execute("INSERT INTO t VALUES (1, 0), (2, 0)")
            let barrier = Barrier(2)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (first, second) in [(1, 2), (2, 1)] {
                    group.addTask {
                        try await database.transaction { sql in
                            try await sql.execute("UPDATE t SET n = n + 1 WHERE id = \(first)")
                            await barrier.arrive()
                            try await sql.execute("UPDATE t SET n = n + 1 WHERE id = \(second)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await database.value("SELECT sum(n) FROM t", as: Int.self) == 4)
        }
    }

    @Test func `retries are bounded and an error of the body's own does not hide the reason`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            let counter = Counter()
            await #expect(throws: Changed.self) {
                try await database.transaction(retries: 2) { sql in
                    await counter.add()
                    do {
                        try await sql.execute("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")
                    } catch {
                        throw Changed()
                    }
                }
            }
            #expect(await counter.count == 3)
        }
    }

    @Test func `waiting for a connection is fair and bounded`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 2) {
            // Single statements may wait for the second connection so long.
            $0.acquireTimeout = .seconds(2)
        } _: { database in
            let (begun, done) = (Barrier(2), Barrier(2))
            let holder = Task {
                try await database.transaction { sql in
                    try await sql.execute("SELECT 1")
                    await begun.arrive()
                    await done.arrive()
                }
            }
            await begun.arrive()
            #expect(database.health.connections < 2 || database.health.leased == 1)
            // One connection stays for single statements, so the second transaction waits in vain.
            #expect(await code { try await database.transaction { try await $0.query("SELECT 2") } } == .leaseTimeout)
            #expect(try await database.value("SELECT 3", as: Int.self) == 3)
            await done.arrive()
            try await holder.value
            #expect(try await database.transaction { try await $0.value("SELECT 4", as: Int.self) } == 4)
        }
    }

    @Test func `a transaction used after its end is refused`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            let leaked = try await database.transaction { sql in
                try await sql.execute("SELECT 1")
                return sql
            }
            #expect(await code { try await leaked.query("SELECT 1") } == .leaseEnded)
            let unused = try await database.transaction { $0 }
            #expect(await code { try await unused.query("SELECT 1") } == .leaseEnded)
        }
    }

    @Test func `nothing slips in behind the commit`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 2) { database in
            try await database.execute("CREATE TABLE t (n int)")
            var (inserted, refused) = (0, 0)
            for _ in 0..<50 {
                let stray = try await database.transaction { sql in
                    try await sql.execute("INSERT INTO t VALUES (0)")
                    return (0..<4).map { n in Task { await code { try await sql.execute("INSERT INTO t VALUES (\(n))") } } }
                }
                inserted += 1
                for task in stray {
                    let code = await task.value
                    #expect(code == nil || code == .leaseEnded)
                    if code == nil { inserted += 1 } else { refused += 1 }
                }
            }
            #expect(try await database.value("SELECT count(*) FROM t", as: Int.self) == inserted)
            #expect(refused > 0 && database.health.connectionsLost == 0)
        }
    }

    @Test func `a session leaves nothing behind`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) { database in
            try await database.withSession(statementTimeout: .seconds(99)) { session in
                #expect(try await session.value("SHOW statement_timeout", as: String.self) == "99s")
                try await session.execute("SET work_mem = '1MB'")
                try await session.execute("CREATE TEMP TABLE gone (a int)")
                try await session.execute("SELECT pg_advisory_lock(4711)")
                try await session.execute("BEGIN")
                // Each statement fails alone.
                #expect(await code { try await session.query("SELECT 1 / \(0)") } == .server)
            }
            #expect(try await database.value("SHOW statement_timeout", as: String.self) == "10s")
            #expect(try await database.value("SHOW work_mem", as: String.self) != "1MB")
            #expect(try await database.value("SHOW search_path", as: String.self) == database.schema)
            #expect(
                try await database.value(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711",
                    as: Int.self
                ) == 0
            )
            #expect(await code { try await database.query("SELECT * FROM gone") } == .server)
            #expect(database.health.connectionsLost == 0)
        }
    }
}

/// Counts, from anywhere.
actor Counter {
    private(set) var count = 0

    func add(_ amount: Int = 1) { count += amount }
}

/// Lets none pass before all have arrived; later arrivals of a retry pass at once.
actor Barrier {
    private let parties: Int
    private var arrived = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ parties: Int) { self.parties = parties }

    func arrive() async {
        arrived += 1
        if arrived < parties {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            for continuation in waiting { continuation.resume() }
            waiting = []
        }
    }
}
