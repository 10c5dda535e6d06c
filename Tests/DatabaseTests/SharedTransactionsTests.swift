import Kernel
import Synchronization
import TestSupport
import Testing

@testable import Database

/// Transactions of different owners that run as one: each has what it would have had by itself.
@Suite(.timeLimit(.minutes(10))) struct SharedTransactionsTests {
    private struct Refused: Error {}

    /// What a test has: counters by owner, and transactions of which the next that wait run as one.
    private struct World: Sendable {
        let database: Database
        let shared: SharedTransactions

        /// Runs `count` transactions as one group, and returns how each has ended, in their order.
        func together<Value: Sendable>(
            _ count: Int,
            owner: @Sendable (Int) -> String = { "owner \($0)" },
            whenWaiting: ([Task<Value, any Error>]) async throws -> Void = { _ in },
            _ body: @escaping @Sendable (Int, Transaction) async throws -> Value
        ) async throws -> [Result<Value, any Error>] {
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            let blocker = Task { [shared] in
                try await shared.transaction(of: "blocker") { _ in for await _ in gate { break } }
            }
            try await eventually { shared.isBusy }
            let tasks = (0..<count).map { place in
                let owner = owner(place)
                return Task { [shared] in try await shared.transaction(of: owner) { try await body(place, $0) } }
            }
            try await eventually { shared.waiting == count }
            try await whenWaiting(tasks)
            open.yield()
            try await blocker.value
            var results: [Result<Value, any Error>] = []
            for task in tasks { results.append(await task.result) }
            return results
        }

        func counts() async throws -> [Int] {
            try await database.query("SELECT n FROM counter ORDER BY id").map { try $0.decode(as: Int.self) }
        }
    }

    private func withCounters(_ count: Int, _ body: (World) async throws -> Void) async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await database.execute("CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL DEFAULT 0 CHECK (n < 1000))")
            try await database.execute("CREATE TABLE entry (id int, place int, PRIMARY KEY (id, place))")
            try await database.execute("INSERT INTO counter (id) SELECT * FROM generate_series(0, \(count - 1))")
            try await body(World(database: database, shared: SharedTransactions(database, most: 16, atOnce: 1)))
        }
    }

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
            let world = World(database: database, shared: SharedTransactions(database, most: 16, atOnce: 1))
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

    /// What a random transaction does to its owner's rows.
    private struct Life: Sendable {
        enum Step: CaseIterable { case add, insert, read, wait, remove }

        let owner: Int
        let steps: [Step]
        let isRefused: Bool
        let fails: Bool

        init(_ random: inout Seeded, owners: Int) {
            owner = .random(in: 0..<owners, using: &random)
            steps = (0..<Int.random(in: 0...6, using: &random)).compactMap { _ in Step.allCases.randomElement(using: &random) }
            isRefused = Int.random(in: 0..<12, using: &random) == 0
            fails = Int.random(in: 0..<12, using: &random) == 0
        }

        func run(_ number: Int, _ sql: Transaction) async throws {
            for (place, step) in steps.enumerated() {
                switch step {
                case .add:
                    try sql.enqueue(
                        """
                        UPDATE counter SET n = n + new.more FROM \(rows: .of([owner]), .of([1])) AS new (id, more)
                        WHERE counter.id = new.id
                        """
                    )
                case .insert:
                    try sql.enqueue("INSERT INTO entry SELECT * FROM \(rows: .of([owner]), .of([10 * number + place])) AS new")
                case .read:
                    let rows = try await sql.query("SELECT id, \(number) FROM counter WHERE id = \(owner)")
                    let (id, own) = try #require(rows.first).decode(as: (Int32.self, Int.self))
                    #expect(Int(id) == owner && own == number)
                case .wait: await Task.yield()
                case .remove: try await sql.execute("DELETE FROM entry WHERE id = \(owner) AND place < \(number)")
                }
            }
            if isRefused { throw Refused() }
            if fails { try sql.enqueue("INSERT INTO entry VALUES (\(owner), NULL)") }
        }
    }

    /// - Returns: the numbers of those that were committed.
    private static func live(_ owner: Int, _ lives: [Life], _ shared: SharedTransactions) async throws -> [Int] {
        var done: [Int] = []
        for (number, life) in lives.enumerated() where life.owner == owner {
            do {
                try await shared.transaction(of: "\(owner)") { try await life.run(number, $0) }
                done.append(number)
                #expect(!life.isRefused && !life.fails)
            } catch is Refused {
                #expect(life.isRefused)
            } catch let error as DatabaseError {
                #expect(life.fails && error.code == .notNullViolation)
            }
        }
        return done
    }

    @Test(arguments: 0..<8) func `random transactions leave what they leave one after the other`(seed: Int) async throws {
        let owners = 12
        try await withCounters(owners) { world in
            let shared = SharedTransactions(world.database, most: 8, atOnce: 2)
            var random = Seeded(UInt64(seed))
            let lives = (0..<240).map { _ in Life(&random, owners: owners) }
            // One owner's transactions follow each other, so that the model knows their order.
            let tasks = (0..<owners).map { owner in Task { try await Self.live(owner, lives, shared) } }
            var done: Set<Int> = []
            for task in tasks { done.formUnion(try await task.value) }
            var (counts, entries) = (Array(repeating: 0, count: owners), Array(repeating: Set<Int>(), count: owners))
            for (number, life) in lives.enumerated() where done.contains(number) {
                for (place, step) in life.steps.enumerated() {
                    switch step {
                    case .add: counts[life.owner] += 1
                    case .insert: entries[life.owner].insert(10 * number + place)
                    case .read, .wait: break
                    case .remove: entries[life.owner] = entries[life.owner].filter { $0 >= number }
                    }
                }
            }
            #expect(try await world.counts() == counts)
            for owner in 0..<owners {
                let stored = try await world.database.query("SELECT place FROM entry WHERE id = \(owner)")
                #expect(try Set(stored.map { Int(try $0.decode(as: Int32.self)) }) == entries[owner])
            }
            #expect(done.count > 150 && shared.waiting == 0)
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
