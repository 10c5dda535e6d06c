import Kernel
import Synchronization
import TestSupport
import Testing

@testable import Database

/// Statements that are sent with the next one or the commit: they fail like others, and nothing is committed without them.
@Suite(.timeLimit(.minutes(10))) struct QueuedStatementTests {
    private struct Changed: Error {}

    private func withTable(_ body: (Database) async throws -> Void) async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await database.execute("CREATE TABLE t (n int PRIMARY KEY)")
            try await body(database)
        }
    }

    private func numbers(_ database: Database) async throws -> [Int] {
        try await database.query("SELECT n FROM t ORDER BY n").map { try $0.decode(as: Int.self) }
    }

    @Test func `they run in order, before what follows, and are committed with it`() async throws {
        try await withTable { database in
            let counts = try await database.transaction { sql in
                try sql.enqueue("INSERT INTO t VALUES (1)")
                let two = try sql.enqueue("INSERT INTO t VALUES (2), (3)")
                let seen = try await sql.value("SELECT count(*) FROM t", as: Int.self)
                let deleted = try sql.enqueue("DELETE FROM t WHERE n > 1 RETURNING n")
                #expect(try await deleted.rows().map { try $0.decode(as: Int.self) }.sorted() == [2, 3])
                try sql.enqueue("INSERT INTO t VALUES (4)")
                return [seen, try await two.affectedRows()]
            }
            #expect(counts == [3, 2])
            #expect(try await numbers(database) == [1, 4])
        }
    }

    @Test func `a transaction of queued statements only is committed`() async throws {
        try await withTable { database in
            try await database.transaction { sql in
                for n in 0..<200 { try sql.enqueue("INSERT INTO t VALUES (\(n))") }
            }
            #expect(try await numbers(database) == Array(0..<200))
            try await eventually { database.health.leased == 0 }
        }
    }

    @Test(arguments: [0, 1, 2]) func `one that fails at the commit gives its own error, and nothing is stored`(place: Int)
        async throws
    {
        try await withTable { database in
            try await database.execute("INSERT INTO t VALUES (7)")
            let error = await #expect(throws: DatabaseError.self) {
                try await database.transaction { sql in
                    for n in 0..<3 { try sql.enqueue("INSERT INTO t VALUES (\(n == place ? 7 : n))") }
                }
            }
            #expect(error?.isUniqueViolation("t_pkey") == true)
            #expect(try await numbers(database) == [7])
            try await database.transaction { sql in _ = try sql.enqueue("INSERT INTO t VALUES (8)") }
            #expect(try await numbers(database) == [7, 8] && database.health.connectionsLost == 0)
        }
    }

    @Test func `the statement behind one that fails throws its error, and ignoring it commits nothing`() async throws {
        try await withTable { database in
            let seen = Mutex<[DatabaseError.Code?]>([])
            let outcome = await code {
                try await database.transaction { sql in
                    try sql.enqueue("INSERT INTO t VALUES (1)")
                    let failing = try sql.enqueue("INSERT INTO t VALUES (1)")
                    let next = await code { try await sql.query("SELECT 1") }
                    let own = await code { try await failing.rows() }
                    let later = await code { try await sql.execute("INSERT INTO t VALUES (2)") }
                    seen.withLock { $0 = [next, own, later] }
                }
            }
            #expect(seen.withLock { $0 } == [.uniqueViolation, .uniqueViolation, .uniqueViolation])
            #expect(outcome == .uniqueViolation)
            let stored = try await numbers(database)
            #expect(stored.isEmpty)
        }
    }

    @Test func `when the body throws they are not sent any more`() async throws {
        try await withTable { database in
            let left = Mutex<QueuedStatement?>(nil)
            await #expect(throws: Changed.self) {
                try await database.transaction { sql in
                    try await sql.execute("INSERT INTO t VALUES (1)")
                    let statement = try sql.enqueue("INSERT INTO t VALUES (1)")
                    left.withLock { $0 = statement }
                    throw Changed()
                }
            }
            let statement = try #require(left.withLock { $0 })
            #expect(await code { try await statement.rows() } == .leaseEnded)
            let stored = try await numbers(database)
            #expect(stored.isEmpty)
        }
    }

    @Test func `a value that cannot be sent is refused at once`() async throws {
        try await withTable { database in
            let refused = await code {
                try await database.transaction { sql in
                    try sql.enqueue("INSERT INTO t VALUES (1)")
                    try sql.enqueue("SELECT \("a\0b")")
                }
            }
            #expect(refused == .invalidValue)
            let stored = try await numbers(database)
            #expect(stored.isEmpty)
        }
    }

    @Test(arguments: [false, true]) func `a serialization failure of one runs the whole again`(isAtCommit: Bool) async throws {
        try await withTable { database in
            let runs = Counter()
            try await database.transaction { sql in
                await runs.add()
                let run = await runs.count
                try sql.enqueue("INSERT INTO t VALUES (\(run))")
                if run < 3 { try sql.enqueue("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$") }
                if !isAtCommit { _ = try await sql.query("SELECT 1") }
            }
            #expect(await runs.count == 3)
            #expect(try await numbers(database) == [3])
        }
    }

    @Test(arguments: [false, true]) func `cancelling stops one that waits for a lock`(isAtCommit: Bool) async throws {
        try await withTable { database in
            try await database.execute("INSERT INTO t VALUES (1)")
            try await database.transaction { holder in
                try await holder.execute("UPDATE t SET n = 1 WHERE n = 1")
                let waiter = Task {
                    try await database.transaction { sql in
                        try sql.enqueue("INSERT INTO t VALUES (2)")
                        try sql.enqueue("DELETE FROM t WHERE n = 1 /* waits */")
                        if !isAtCommit { _ = try await sql.query("SELECT 1") }
                    }
                }
                try await database.untilSomeoneWaitsForALock("/* waits */")
                waiter.cancel()
                await #expect(throws: CancellationError.self) { try await waiter.value }
            }
            #expect(try await numbers(database) == [1])
            try await eventually { database.health.leased == 0 }
        }
    }

    @Test func `a task that is cancelled already sends nothing`() async throws {
        try await withTable { database in
            let task = Task {
                try await database.transaction { sql in
                    withUnsafeCurrentTask { $0?.cancel() }
                    try sql.enqueue("INSERT INTO t VALUES (1)")
                }
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            let stored = try await numbers(database)
            #expect(stored.isEmpty)
        }
    }

    @Test func `a connection that is lost before the commit was sent runs the whole again`() async throws {
        try await withTable { database in
            let runs = Counter()
            try await database.transaction { sql in
                await runs.add()
                let run = await runs.count
                try sql.enqueue("INSERT INTO t VALUES (\(run))")
                if run == 1 { try sql.enqueue("SELECT pg_terminate_backend(pg_backend_pid())") }
                _ = try await sql.query("SELECT 1")
            }
            #expect(await runs.count == 2)
            #expect(try await numbers(database) == [2])
        }
    }

    @Test func `one that is lost with the commit on its way has an unknown outcome and is not repeated`() async throws {
        try await withTable { database in
            let runs = Counter()
            let outcome = await code {
                try await database.transaction { sql in
                    await runs.add()
                    try sql.enqueue("INSERT INTO t VALUES (1)")
                    try sql.enqueue("SELECT pg_terminate_backend(pg_backend_pid())")
                }
            }
            #expect(outcome == .outcomeUnknown)
            #expect(await runs.count == 1)
        }
    }

    @Test func `a transaction that gets no connection says so`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 2) {
            // Also the time for a second connection, which the table may wait for.
            $0.acquireTimeout = .seconds(2)
        } _: { database in
            try await database.execute("CREATE TABLE t (n int PRIMARY KEY)")
            try await database.transaction { holder in
                try await holder.execute("SELECT 1")
                let refused = await code {
                    try await database.transaction { sql in try sql.enqueue("INSERT INTO t VALUES (1)") }
                }
                #expect(refused == .leaseTimeout)
            }
            let stored = try await numbers(database)
            #expect(stored.isEmpty)
        }
    }

    @Test func `each is counted once, with its own error`() async throws {
        let seen = Seen()
        let server = try await PostgresServer.shared()
        let configuration = DatabaseConfiguration(
            connectionString: server.connectionString,
            schema: PostgresServer.freshSchemaName(),
            poolSize: 2
        )
        let database = Database(configuration, logger: PostgresServer.silence, observer: seen)
        try await database.start()
        _ = try? await database.transaction { sql in
            try sql.enqueue("SELECT 1")
            try sql.enqueue("SELECT 1 / 0")
            try sql.enqueue("SELECT 2")
        }
        let statements = seen.ended.withLock { $0.filter { $0.kind == .statement }.map(\.error) }
        #expect(statements == [nil, .server, .transactionAborted])
        await database.stop()
    }

    private final class Seen: DatabaseObserver {
        struct Ended { let kind: StatementKind; let error: DatabaseError.Code? }

        let ended = Mutex<[Ended]>([])

        func statementEnded(_ kind: StatementKind, error: DatabaseError.Code?, duration _: Duration) {
            ended.withLock { $0.append(Ended(kind: kind, error: error)) }
        }
    }

    // MARK: moments of a loss

    @Test(arguments: HandDrivenReactor.Death.allCases)
    func `queued statements that are parked when the connection is lost are refused with the commit, all of them`(
        death: HandDrivenReactor.Death
    ) async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        let lease = hand.transaction()
        let queue = StatementQueue(hand.reactor, lease)
        let first = try queue.append("CREATE TEMP TABLE t (n int)")
        queue.send()
        for command in hand.reactor.mailbox.take() { hand.reactor.obey(command) }
        hand.reactor.dispatch()
        hand.kill(try hand.connection, death)
        let commit = await hand.submit("COMMIT", .commit, on: lease)
        try await hand.untilAllAreAnswered()
        let codes = [await code { try await first.rows() }, await code { try await commit.value }]
        // Whether the commit has been sent decides what may be said.
        #expect(codes == [.connectionLost, death == .known ? .connectionLost : .outcomeUnknown])
    }

    @Test func `a statement withdrawn before it was sent keeps the rest from being committed`() async throws {
        let hand = try HandDrivenReactor(try await PostgresServer.shared())
        try hand.connect()
        let lease = hand.transaction()
        let queue = StatementQueue(hand.reactor, lease)
        let first = try queue.append("SELECT 1")
        queue.send()
        // It waits for a connection still.
        for command in hand.reactor.mailbox.take() { hand.reactor.obey(command) }
        queue.cancel()
        for command in hand.reactor.mailbox.take() { hand.reactor.obey(command) }
        let second = await hand.submit("SELECT 2", on: lease)
        let commit = await hand.submit("COMMIT", .commit, on: lease)
        try await hand.untilAllAreAnswered()
        await #expect(throws: CancellationError.self) { try await first.rows() }
        #expect(await code { try await second.value } == .transactionAborted)
        #expect(await code { try await commit.value } == .transactionAborted)
    }
}
