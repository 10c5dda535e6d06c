import Database
import Kernel
import Synchronization
import TestSupport
import Testing

@Suite("A server that is away", .timeLimit(.minutes(10)))
struct AwayTests {
    @Test func `is known to be: nothing waits for it any more, and everything is found again`() async throws {
        let server = try await PostgresServer.start()
        // Who waited for that would not be answered before the end of the test.
        try await server.withDatabase {
            $0.acquireTimeout = .seconds(3_600)
        } _: { database in
            try await database.execute("CREATE TABLE t (n int)")
            await server.kill()
            try await eventually("it is known to be away") { database.health.failedAttempts > 0 && !database.health.isAvailable }
            for _ in 0..<50 {
                #expect(await code { try await database.query("SELECT n FROM t") } == .unavailable)
                #expect(await code { try await database.execute("INSERT INTO t VALUES (1)") } == .unavailable)
                #expect(await code { try await database.transaction { try await $0.query("SELECT n FROM t") } } == .unavailable)
            }
            try await server.start()
            try await eventually("it is back") { database.health.isWell }
            #expect(try await database.value("SELECT count(*) FROM t", as: Int.self) == 0)
        }
    }

    @Test func `what waited for it when it went is refused, whatever its time limit`() async throws {
        let server = try await PostgresServer.start()
        try await server.withDatabase(poolSize: 2) {
            $0.acquireTimeout = .seconds(3_600)
            $0.maximumInFlight = 1
        } _: { database in
            let waiting = (0..<40).map { number in
                Task { await code { try await database.query("SELECT pg_sleep(3600), \(number)") } }
            }
            try await eventually("they wait") { database.health.waiting >= 30 }
            await server.kill()
            for task in waiting {
                let code = await task.value
                #expect(code == .unavailable || code == .connectionLost || code == .outcomeUnknown)
            }
        }
    }

    private final class Ending: Sendable { let isHere = Atomic(false) }

    @Test func `a moment without connections is none: who asks then is not refused`() async throws {
        let server = try await PostgresServer.start()
        try await server.withDatabase { database in
            try await database.execute("CREATE TABLE t (n int)")
            try await server.withDatabase(poolSize: 1) { other in
                func sessions() async throws -> Int {
                    try await other.value(
                        "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'test'"
                    )
                }
                let ending = Ending()
                // Also when the test fails: a loop of refused statements would keep other tests from their threads.
                defer { ending.isHere.store(true, ordering: .relaxed) }
                let askers = (0..<8).map { number in
                    Task {
                        var (answers, refusals) = (0, 0)
                        while !ending.isHere.load(ordering: .relaxed) {
                            switch await code(of: { try await database.query("SELECT n FROM t WHERE n = \(number)") }) {
                            case nil: answers += 1
                            // Sent twice, and lost twice.
                            case .connectionLost: break
                            default: refusals += 1
                            }
                        }
                        return [answers, refusals]
                    }
                }
                for round in 1...5 {
                    // Those of before may still be ending.
                    try await eventually("all are up, and no others") { try await sessions() == 4 }
                    let ended = try await other.value(
                        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND application_name = 'test'",
                        as: Int.self
                    )
                    #expect(ended == 4)
                    try await eventually("all are back") {
                        database.health.connections == 4 && database.health.connectionsLost == 4 * round
                    }
                }
                ending.isHere.store(true, ordering: .relaxed)
                for asker in askers {
                    let counts = await asker.value
                    #expect(counts[0] > 0 && counts[1] == 0)
                }
            }
        }
    }

    @Test func `frozen: it is given up although its connections stay up, and found again when it goes on`() async throws {
        let server = try await PostgresServer.start()
        try await server.withDatabase {
            $0.acquireTimeout = .seconds(3_600)
            $0.statementTimeout = .seconds(3_600)
            // Time in which a busy server takes a connection while the tables are made.
            $0.silenceBeforeProbe = .milliseconds(500)
            $0.probeTimeout = .seconds(3)
            // The probe's attempt ends by itself first, which is no answer.
            $0.connectTimeout = .seconds(2)
        } _: { database in
            try await database.execute("CREATE TABLE t (n int)")
            server.pause()
            #expect(await code { try await database.execute("INSERT INTO t VALUES (1)") } == .outcomeUnknown)
            try await eventually("its health says so") { !database.health.isAvailable }
            #expect(await code { try await database.query("SELECT n FROM t") } == .unavailable)
            #expect(await code { try await database.transaction { try await $0.query("SELECT n FROM t") } } == .unavailable)
            server.resume()
            try await eventually("it is back") { database.health.connections == 4 }
            #expect(try await database.value("SELECT count(*) FROM t", as: Int.self) <= 1)
        }
    }

    @Test func `only busy: a server that takes a further connection is not given up`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) {
            $0.silenceBeforeProbe = .milliseconds(50)
        } _: { (database) async throws in
            #expect(try await database.value("SELECT 7 FROM pg_sleep(1)", as: Int.self) == 7)
            #expect(database.health.connectionsLost == 0)
        }
    }
}

@Suite("What a failure of the database is to callers")
struct ServiceErrorTests {
    private static let raise: Query =
        "DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = coalesce(current_setting('test.state', true), '53100'); END $$"

    @Test(arguments: [
        ("53100", true), ("53200", true), ("53300", true), ("53400", true), ("57P01", true), ("57P02", true), ("57P03", true),
        ("58030", true), ("08006", true), ("25006", true), ("40001", true), ("40P01", true), ("55P03", true), ("23505", false),
        ("42P01", false), ("22012", false), ("57014", false), ("42501", false),
    ]) func `a refusal that passes is UNAVAILABLE, every other one INTERNAL`(state: String, isUnavailable: Bool) async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) { database in
            let error = await #expect(throws: DatabaseError.self) {
                try await database.transaction(retries: 0) { sql in
                    _ = try await sql.query("SELECT set_config('test.state', \(state), true)")
                    try await sql.execute(Self.raise)
                }
            }
            #expect(error?.sqlState == state)
            #expect(error?.serviceError == (isUnavailable ? .unavailable() : nil))
            if isUnavailable { #expect(error?.serviceError?.retryAfter == 1) }
        }
    }

    @Test(arguments: DatabaseError.Code.allCases) func `a database that is away or overloaded is UNAVAILABLE`(
        code: DatabaseError.Code
    ) {
        let passing: Set<DatabaseError.Code> = [
            .unavailable, .overloaded, .leaseTimeout, .connectionLost, .outcomeUnknown, .lockTimeout, .serializationFailure,
            .deadlock,
            .stopped,
        ]
        #expect((DatabaseError(code).serviceError == .unavailable()) == passing.contains(code))
    }

    @Test func `a server whose disk is full is not well until it has refused nothing for a while`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) { database in
            #expect(database.health.isWell)
            let full = await #expect(throws: DatabaseError.self) {
                try await database.execute(Self.raise)
            }
            #expect(full?.isServerUnable == true)
            #expect(database.health.isAvailable && !database.health.isWell)
        }
    }
}
