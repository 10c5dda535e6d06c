import Kernel
import Synchronization
import TestSupport
import Testing

@testable import Database

/// Transactions of different owners that run as one: each has what it would have had by itself.
@Suite(.timeLimit(.minutes(10))) struct SharedTransactionsTests {
    /// Reads a counter, adds to it, and returns what it was and the transaction's number.
    private static func add(_ amount: Int, to id: Int, _ sql: Transaction) async throws -> [Int] {
        let read = try sql.enqueue("SELECT n FROM counter WHERE id = \(id) FOR UPDATE")
        let number = try sql.enqueue("SELECT pg_current_xact_id()::text::bigint + 0 * \(id)")
        guard let row = try await read.rows().first, let transaction = try await number.rows().first else { throw Refused() }
        let n = try row.decode(as: Int.self)
        try sql.enqueue(
            "UPDATE counter SET n = new.n FROM \(rows: .of([id]), .of([n + amount])) AS new (id, n) WHERE counter.id = new.id"
        )
        return [n, try transaction.decode(as: Int.self)]
    }

    @Test func `those that wait at the same time are one transaction of the server, and each gets its own rows`() async throws {
        try await withCounters(12) { world in
            try await world.database.execute("UPDATE counter SET n = 10 * id")
            let results = try await world.together(12) { try await Self.add(1, to: $0, $1) }
            let values = try results.map { try $0.get() }
            #expect(values.map { $0[0] } == (0..<12).map { 10 * $0 })
            #expect(Set(values.map { $0[1] }).count == 1)
            #expect(try await world.counts() == (0..<12).map { 10 * $0 + 1 })
        }
    }

    @Test func `what one body sends with others is one statement`() async throws {
        let counter = Counter()
        try await PostgresServer.shared().withDatabase { plain in
            let database = try await watched(plain, counter)
            try await database.execute("CREATE TABLE t (id int PRIMARY KEY, n int)")
            let world = SharedWorld(database: database, shared: SharedTransactions(database, most: 16, atOnce: 1))
            counter.reset()
            let results = try await world.together(10) { place, sql in
                try sql.enqueue("INSERT INTO t SELECT id, n FROM \(rows: .of([place]), .of([7])) AS new (id, n)")
                return try await sql.query("SELECT n + \(place) FROM t WHERE id = \(place)").map { try $0.decode(as: Int.self) }
            }
            #expect(try results.map { try $0.get() } == (0..<10).map { [7 + $0] })
            // One commit is that of the transaction they waited for.
            #expect(counter.statements == 2 && counter.commits == 2)
            await database.stop()
        }
    }

    @Test func `a body that refuses gets its own error, and the others are committed without it`() async throws {
        try await withCounters(8) { world in
            let results = try await world.together(8) { place, sql in
                let value = try await Self.add(1, to: place, sql)
                if place == 3 { throw Refused() }
                return value
            }
            for (place, result) in results.enumerated() {
                switch result {
                case .success: #expect(place != 3)
                case .failure(let error): #expect(place == 3 && error is Refused)
                }
            }
            #expect(try await world.counts() == (0..<8).map { $0 == 3 ? 0 : 1 })
        }
    }

    @Test(arguments: [true, false]) func `a statement that fails is the failure of its own transaction only`(atCommit: Bool)
        async throws
    {
        try await withCounters(8) { world in
            let results = try await world.together(8) { place, sql in
                let value = try await Self.add(place == 5 ? 2_000 : 1, to: place, sql)
                if !atCommit { _ = try await sql.query("SELECT 1 + \(place)") }
                return value
            }
            let codes = results.map { result -> DatabaseError.Code? in
                if case .failure(let error) = result { (error as? DatabaseError)?.code } else { nil }
            }
            #expect(codes == (0..<8).map { $0 == 5 ? .checkViolation : nil })
            #expect(try await world.counts() == (0..<8).map { $0 == 5 ? 0 : 1 })
        }
    }

    @Test func `a task that is cancelled while it waits, or in the group, changes nothing, and the others do`() async throws {
        try await withCounters(6) { world in
            let stuck = AsyncStream.makeStream(of: Int.self)
            let tasks = Mutex<[Task<[Int], any Error>]>([])
            let watcher = Task { for await place in stuck.stream { tasks.withLock { $0[place].cancel() } } }
            let results = try await world.together(
                6,
                whenWaiting: { all in
                    tasks.withLock { $0 = all }
                    all[1].cancel()
                    _ = await all[1].result
                }
            ) { place, sql in
                let value = try await Self.add(1, to: place, sql)
                if place == 4 {
                    stuck.continuation.yield(place)
                    while !Task.isCancelled { await Task.yield() }
                }
                return value
            }
            stuck.continuation.finish()
            await watcher.value
            for (place, result) in results.enumerated() {
                switch result {
                case .success: #expect(place != 1 && place != 4)
                case .failure(let error): #expect((place == 1 || place == 4) && error is CancellationError)
                }
            }
            #expect(try await world.counts() == [1, 0, 1, 1, 0, 1])
        }
    }

    @Test func `transactions of one owner run one after the other`() async throws {
        try await withCounters(2) { world in
            let results = try await world.together(10, owner: { "owner \($0 % 2)" }) { place, sql in
                try await Self.add(1, to: place % 2, sql)
            }
            let values = try results.map { try $0.get()[0] }
            #expect(values.enumerated().filter { $0.offset % 2 == 0 }.map(\.element).sorted() == [0, 1, 2, 3, 4])
            #expect(try await world.counts() == [5, 5])
        }
    }

    @Test func `who asks whether a merged change has changed their row gets the truth`() async throws {
        try await withCounters(6) { world in
            try await world.database.execute("UPDATE counter SET n = 1 WHERE id = 2")
            let results = try await world.together(6) { place, sql in
                let changed = try sql.enqueue(
                    """
                    UPDATE counter SET n = 5 FROM \(rows: .of([place])) AS new (id) WHERE counter.id = new.id AND counter.n = 0
                    """
                )
                return try await changed.affectedRows()
            }
            #expect(try results.map { try $0.get() } == [1, 1, 0, 1, 1, 1])
            #expect(try await world.counts() == [5, 5, 1, 5, 5, 5])
        }
    }

    @Test func `a merged change that changes two rows for one and none for another is not taken for one each`() async throws {
        try await withCounters(4) { world in
            let results = try await world.together(3) { place, sql in
                let changed = try sql.enqueue(
                    """
                    UPDATE counter SET n = 5 FROM \(rows: .of([place])) AS new (id)
                    WHERE counter.id = ANY(CASE new.id WHEN 0 THEN ARRAY[0, 1] WHEN 1 THEN ARRAY[2] ELSE ARRAY[9] END)
                    """
                )
                return try await changed.affectedRows()
            }
            #expect(try results.map { try $0.get() } == [2, 1, 0])
            #expect(try await world.counts() == [5, 5, 5, 0])
        }
    }

    @Test func `rows of two lists in one statement are those of one transaction, and not joined with those of others`()
        async throws
    {
        try await withCounters(6) { world in
            let results = try await world.together(3) { place, sql in
                _ = try sql.enqueue(
                    """
                    UPDATE counter SET n = one.n + other.n
                    FROM \(rows: .of([place]), .of([10 * place])) AS one (id, n), \(rows: .of([place + 3]), .of([place])) AS other (id, n)
                    WHERE counter.id IN (one.id, other.id)
                    """
                )
            }
            for result in results { try result.get() }
            #expect(try await world.counts() == [0, 11, 22, 0, 11, 22])
        }
    }

    @Test func `what refuses because of what it has found may ask to run again by itself`() async throws {
        try await withCounters(4) { world in
            let runs = Mutex<[Int: Int]>([:])
            let results = try await world.together(4) { place, sql in
                let run = runs.withLock { runs in
                    runs[place, default: 0] += 1
                    return runs[place, default: 0]
                }
                let value = try await Self.add(1, to: place, sql)
                if place == 2, run == 1 { throw DatabaseError(.serializationFailure) }
                return value
            }
            for result in results { #expect(try result.get()[0] == 0) }
            #expect(try await world.counts() == [1, 1, 1, 1])
        }
    }

    @Test func `who has seen that an answer cannot be known is not committed, also when the error is caught`() async throws {
        try await withCounters(4) { world in
            let runs = Mutex<[Int: Int]>([:])
            let results = try await world.together(3) { place, sql in
                runs.withLock { $0[place, default: 0] += 1 }
                let changed = try sql.enqueue(
                    "UPDATE counter SET n = 5 FROM \(rows: .of([place])) AS new (id) WHERE counter.id = new.id"
                )
                // Of a merged update it is not known.
                return (try? await changed.affectedRows()) ?? -1
            }
            #expect(try results.map { try $0.get() } == [1, 1, 1])
            #expect(runs.withLock { $0 } == [0: 2, 1: 2, 2: 2])
            #expect(try await world.counts() == [5, 5, 5, 0])
        }
    }

    @Test func `rows that a merged insert with a join returns are not taken to be in its order`() async throws {
        try await withCounters(6) { world in
            let results = try await world.together(6) { place, sql in
                let stored = try sql.enqueue(
                    """
                    INSERT INTO entry SELECT counter.id, new.place
                    FROM \(rows: .of([5 - place]), .of([place])) AS new (id, place) JOIN counter ON counter.id = new.id
                    RETURNING place
                    """
                )
                return Int(try #require(try await stored.rows().first).decode(as: Int32.self))
            }
            #expect(try results.map { try $0.get() } == [0, 1, 2, 3, 4, 5])
        }
    }

    @Test func `statements that cannot be one are sent one by one, in each transaction's order`() async throws {
        try await withCounters(6) { world in
            let results = try await world.together(6) { place, sql in
                // Of two texts, with an array, and with a value of the statement that differs.
                if place % 2 == 0 { try sql.enqueue("UPDATE counter SET n = n + 1 WHERE id = \(place)") }
                let ids = try sql.enqueue("SELECT id FROM counter WHERE id = ANY(\([place, place + 1])) ORDER BY id")
                try sql.enqueue(
                    "UPDATE counter SET n = n * \(place) + 3 FROM \(rows: .of([place])) AS new (id) WHERE counter.id = new.id"
                )
                let n = try await sql.query("SELECT n FROM counter WHERE id = \(place)")
                return try await ids.rows().map { Int(try $0.decode(as: Int32.self)) } + n.map { try $0.decode(as: Int.self) }
            }
            for (place, result) in results.enumerated() {
                #expect(try result.get() == [place] + (place < 5 ? [place + 1] : []) + [place % 2 == 0 ? place + 3 : 3])
            }
        }
    }

    @Test func `when the connection is lost each is run again, once`() async throws {
        try await withCounters(6) { world in
            let runs = Mutex<[Int: Int]>([:])
            let results = try await world.together(6) { place, sql in
                let run = runs.withLock { runs in
                    runs[place, default: 0] += 1
                    return runs[place, default: 0]
                }
                let value = try await Self.add(1, to: place, sql)
                if place == 2, run == 1 {
                    _ = try await sql.query("SELECT pg_terminate_backend(pg_backend_pid() + 0 * \(place))")
                }
                return value
            }
            for result in results { #expect(try result.get()[0] == 0) }
            #expect(try await world.counts() == [1, 1, 1, 1, 1, 1])
        }
    }

    @Test func `who runs again finds no lock of the group that was dissolved`() async throws {
        try await withCounters(8) { world in
            for round in 0..<20 {
                let results = try await world.together(8) { place, sql in
                    let lock = try sql.enqueue("SELECT pg_try_advisory_xact_lock(\(Int32(round)), \(Int32(place)))")
                    let isHeld = try await lock.rows().first?.decode(as: Bool.self)
                    if place == round % 8 { throw Refused() }
                    return isHeld
                }
                for (place, result) in results.enumerated() where place != round % 8 { #expect(try result.get() == true) }
                // So that the next group is whole again.
                while world.shared.limit < 8 {
                    _ = try await world.together(min(2, world.shared.limit)) { try await Self.add(0, to: $0, $1) }
                }
            }
        }
    }

    @Test func `after groups that were dissolved transactions run by themselves for a while, then together again`() async throws {
        try await withCounters(4) { world in
            while world.shared.limit > 1 {
                let results = try await world.together(2) { place, sql in
                    _ = try await Self.add(1, to: place, sql)
                    throw Refused()
                }
                #expect(results.allSatisfy { if case .failure(let error) = $0 { error is Refused } else { false } })
            }
            for _ in 0..<64 { _ = try await world.shared.transaction(of: "owner") { try await Self.add(1, to: 3, $0) } }
            #expect(world.shared.limit == 2)
            let numbers = try await world.together(2) { try await Self.add(1, to: $0, $1)[1] }
            #expect(try Set(numbers.map { try $0.get() }).count == 1)
            #expect(world.shared.limit == 3)
            #expect(try await world.counts() == [1, 1, 0, 64])
        }
    }

    /// Counts what is sent.
    private final class Counter: DatabaseObserver {
        private let counts = Mutex<[StatementKind: Int]>([:])
        var statements: Int { counts.withLock { $0[.statement] ?? 0 } }
        var commits: Int { counts.withLock { $0[.commit] ?? 0 } }

        func reset() { counts.withLock { $0 = [:] } }
        func statementEnded(_ kind: StatementKind, error: DatabaseError.Code?, duration: Duration) {
            counts.withLock { $0[kind, default: 0] += 1 }
        }
    }

    /// A second pool on the schema of another.
    private func watched(_ plain: Database, _ observer: Counter) async throws -> Database {
        var configuration = DatabaseConfiguration(
            connectionString: try await PostgresServer.shared().connectionString,
            schema: plain.schema,
            applicationName: "test",
            poolSize: 4
        )
        configuration.probeTimeout = .seconds(60)
        let database = Database(configuration, logger: PostgresServer.silence, observer: observer)
        try await database.start()
        return database
    }
}
