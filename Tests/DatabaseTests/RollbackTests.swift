import Database
import Kernel
import TestSupport
import Testing

@testable import Database

/// A `ROLLBACK` is sent only when a transaction is open: outside of one PostgreSQL warns, and logs it.
@Suite(.timeLimit(.minutes(10))) struct RollbackTests {
    private struct Changed: Error {}

    /// One way of using the database.
    struct Use: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let run: @Sendable (Database, PostgresServer) async throws -> Void

        init(_ description: String, _ run: @escaping @Sendable (Database, PostgresServer) async throws -> Void) {
            (testDescription, self.run) = (description, run)
        }
    }

    static let uses = [
        Use("a session that does nothing") { database, _ in try await database.withSession { _ in } },
        Use("a session of single statements") { database, _ in
            try await database.withSession { _ = try await $0.query("SELECT 1") }
        },
        Use("a session whose statement fails") { database, _ in
            _ = try? await database.withSession { try await $0.execute("SELECT 1 / 0") }
        },
        Use("a session whose script fails") { database, _ in
            _ = try? await database.withSession { try await $0.run(script: "SELECT 1; SELECT 1 / 0") }
        },
        Use("a session that ends its own transaction") { database, _ in
            try await database.withSession { session in
                for text in ["BEGIN", "SELECT 1", "COMMIT"] { try await session.execute(Query(stringLiteral: text)) }
            }
        },
        Use("a session that leaves a transaction open") { database, _ in
            try await database.withSession { _ = try await $0.execute("BEGIN") }
        },
        Use("a session that leaves a failed transaction open") { database, _ in
            _ = try? await database.withSession { session in
                try await session.execute("BEGIN")
                try await session.execute("SELECT 1 / 0")
            }
        },
        Use("a migration") { database, _ in
            try await Migrator(scope: "good", migrations: [Migration(version: 1, name: "a", sql: "SELECT 1; SELECT 2")]).run(
                on: database
            )
        },
        Use("a migration that fails") { database, _ in
            _ = try? await Migrator(scope: "bad", migrations: [Migration(version: 1, name: "a", sql: "SELECT 1; SELECT 1 / 0")])
                .run(on: database)
        },
        Use("a transaction whose body throws") { database, _ in
            _ = try? await database.transaction { sql in
                _ = try await sql.query("SELECT 1")
                throw Changed()
            }
        },
        Use("a transaction without a statement") { database, _ in _ = try? await database.transaction { _ in throw Changed() } },
        Use("a transaction whose statement fails") { database, _ in
            _ = try? await database.transaction { try await $0.execute("SELECT 1 / 0") }
        },
        Use("a transaction whose failed statement is ignored") { database, _ in
            _ = try? await database.transaction { sql in _ = try? await sql.execute("SELECT 1 / 0") }
        },
        Use("a transaction whose commit fails") { database, _ in
            _ = try? await database.transaction { try await $0.execute("INSERT INTO late VALUES (1, 2)") }
        },
        Use("a transaction that is run again and again") { database, _ in
            _ = try? await database.transaction { try await $0.execute("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$") }
        },
        Use("a transaction that is cancelled") { database, server in
            let task = Task { try await database.transaction { try await $0.execute("SELECT pg_sleep(30)") } }
            try await untilOneSleeps(on: server)
            task.cancel()
            _ = await task.result
        },
        Use("a transaction whose statement takes too long") { database, _ in
            _ = try? await database.transaction { sql in
                try await sql.execute("SET LOCAL statement_timeout = 20")
                try await sql.execute("SELECT pg_sleep(30)")
            }
        },
        Use("a transaction whose connection is lost") { database, _ in
            _ = try? await database.transaction(retries: 0) { sql in
                try await sql.execute("SELECT pg_terminate_backend(pg_backend_pid())")
            }
        },
        Use("a transaction whose BEGIN fails") { database, _ in
            try await database.dropPreparedStatements()
            _ = try? await database.transaction { _ = try await $0.execute("SELECT 2") }
        },
    ]

    @Test(arguments: uses) func `no use of the database makes the server warn of a transaction that is not there`(use: Use)
        async throws
    {
        let server = try await PostgresServer.start(settings: ["deadlock_timeout=50ms"])
        try await server.withDatabase(poolSize: 1) { database in
            try await database.execute("CREATE TABLE early (id int PRIMARY KEY)")
            try await database.execute(
                "CREATE TABLE late (id int PRIMARY KEY, early int REFERENCES early DEFERRABLE INITIALLY DEFERRED)"
            )
            // So that what follows finds its BEGIN prepared.
            try await database.transaction { _ = try await $0.query("SELECT 1") }
            try await use.run(database, server)
            // The connection is as it was, or another: nothing of before is in the way, and nothing is open.
            try await eventually { database.health.leased == 0 && database.health.connections == 1 }
            #expect(try await database.value("SELECT 8", as: Int.self) == 8)
            let open = try await database.value(
                "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'",
                as: Int.self
            )
            #expect(open == 0)
        }
        let warnings = server.log.split(separator: "\n").filter { $0.contains("WARNING:") && $0.contains("transaction") }
        #expect(warnings.isEmpty, "\(warnings)")
        await server.stop()
    }

    @Test func `after a BEGIN that fails nothing runs outside the transaction`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) { database in
            try await database.execute("CREATE TABLE t (n int)")
            try await database.transaction { _ = try await $0.query("SELECT 1") }
            try await database.dropPreparedStatements()
            _ = try? await database.transaction(retries: 0) { sql in
                _ = try? await sql.execute("INSERT INTO t VALUES (1)")
                _ = try? await sql.execute("INSERT INTO t VALUES (2)")
                throw Changed()
            }
            try await eventually { database.health.connections == 1 }
            #expect(try await database.value("SELECT count(*) FROM t", as: Int.self) == 0)
        }
    }
}

extension Database {
    /// The server drops what this connection prepared, as a pooler between the two may have it do.
    fileprivate func dropPreparedStatements() async throws {
        try await withSession { _ = try await $0.execute("DEALLOCATE ALL") }
    }
}

/// Waits until a statement sleeps on the server.
private func untilOneSleeps(on server: PostgresServer) async throws {
    try await server.withDatabase(poolSize: 1) { other in
        try await eventually {
            try await other.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'", as: Int.self) == 1
        }
    }
}
