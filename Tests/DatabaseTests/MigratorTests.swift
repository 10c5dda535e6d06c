import Database
import Kernel
import TestSupport
import Testing

@Suite struct MigratorTests {
    private let first = Migration(
        version: 1,
        name: "first",
        sql: "CREATE TABLE a (n int);\n-- ;\nINSERT INTO a VALUES (1); SELECT ';' FROM a;"
    )
    private let second = Migration(version: 2, name: "second", sql: "ALTER TABLE a ADD COLUMN b text DEFAULT 'x'")

    @Test func `applies what is missing once`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await Migrator(migrations: [first]).run(on: database)
            try await Migrator(migrations: [second, first]).run(on: database)
            try await Migrator(migrations: [first, second]).run(on: database)
            #expect(try await database.query("SELECT n, b FROM a").map { try $0.decode(as: (Int.self, String.self)).1 } == ["x"])
            let applied = try await database.query("SELECT version, name FROM schema_migrations ORDER BY version")
            #expect(try applied.map { try $0.get("name", as: String.self) } == ["first", "second"])
            // An older release starts on the newer schema.
            try await Migrator(migrations: [first]).run(on: database)
            // Modules that share the schema number theirs for themselves.
            try await Migrator(scope: "outbox", migrations: [Migration(version: 1, name: "o", sql: "CREATE TABLE o ()")]).run(
                on: database
            )
            #expect(database.health.connectionsLost == 0)
        }
    }

    @Test func `sets of one schema are applied in their order, and each says what is wrong with it`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            let other = Migration(version: 1, name: "other", sql: "CREATE TABLE b AS SELECT n FROM a")
            let sets = [MigrationSet("one", [second, first]), MigrationSet("two", [other]), MigrationSet("none", [])]
            try await Migrator(sets).run(on: database)
            try await Migrator(sets).run(on: database)
            #expect(try await database.value("SELECT count(*) FROM b", as: Int.self) == 1)
            let changed = Migration(version: 1, name: "other", sql: "CREATE TABLE b (m int)")
            let failure = await #expect(throws: DatabaseError.self) {
                try await Migrator([MigrationSet("one", [first, second]), MigrationSet("two", [changed])]).run(on: database)
            }
            #expect(failure.map { String(reflecting: $0) }?.contains("two 1: changed after it was applied") == true)
        }
    }

    @Test func `vacuum locks no table to make it shorter, unless the table says so`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            let own = Migration(version: 1, name: "own", sql: "CREATE TABLE own () WITH (vacuum_truncate = true)")
            for _ in 1...2 { try await Migrator([MigrationSet("one", [first]), MigrationSet("two", [own])]).run(on: database) }
            // Whether vacuum has anything to remove depends on what runs beside this.
            let options = try await database.query(
                """
                SELECT relname || ' ' || array_to_string(reloptions, ' ') FROM pg_class
                WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY relname
                """
            )
            #expect(
                try options.map { try $0.decode(as: String.self) } == [
                    "a vacuum_truncate=false", "own vacuum_truncate=true", "schema_migrations vacuum_truncate=false",
                ]
            )
        }
    }

    @Test func `makes the schema when it may`() async throws {
        let server = try await PostgresServer.shared()
        let schema = PostgresServer.freshSchemaName()
        let database = Database(
            DatabaseConfiguration(connectionString: server.connectionString, schema: schema, poolSize: 2),
            logger: PostgresServer.silence
        )
        try await database.start()
        try await Migrator(migrations: [first]).run(on: database)
        #expect(try await database.value("SELECT count(*) FROM a", as: Int.self) == 1)

        let role = "role_of_\(schema)"
        try await database.execute("CREATE ROLE \(identifier: role) LOGIN")
        let poor = Database(
            DatabaseConfiguration(connectionString: server.connectionString(user: role), schema: "\(schema)_other", poolSize: 2),
            logger: PostgresServer.silence
        )
        try await poor.start()
        #expect(await code { try await Migrator(migrations: [first]).run(on: poor) } == .insufficientPrivilege)
        // When the schema is there and its own, nothing more is needed.
        let other = "\(schema)_other"
        try await database.execute("CREATE SCHEMA \(identifier: other) AUTHORIZATION \(identifier: role)")
        try await Migrator(migrations: [first]).run(on: poor)
        #expect(await code { try await poor.query("SELECT * FROM \(identifier: schema).a") } == .insufficientPrivilege)
        await poor.stop()
        await database.stop()
    }

    @Test func `who holds the lock of a schema's migrations holds them up in the same database, and in no other`() async throws {
        let server = try await PostgresServer.shared()
        try await server.withDatabase { stranger in
            let schema = PostgresServer.freshSchemaName()
            let own = "own_\(schema)"
            try await stranger.execute("CREATE DATABASE \(identifier: own)")
            func migrate(in connection: String, timeout: Interval) async throws {
                let database = Database(
                    DatabaseConfiguration(connectionString: connection, schema: schema, poolSize: 1),
                    logger: PostgresServer.silence
                )
                try await database.start()
                let result = await code { try await Migrator(migrations: [first], timeout: timeout).run(on: database) }
                await database.stop()
                if let result { throw DatabaseError(result) }
            }
            try await stranger.withSession { session in
                try await session.execute(
                    "SELECT pg_advisory_lock(hashtextextended(\("streaksnap migrations " + schema), 0))"
                )
                let refused = await code { try await migrate(in: server.connectionString, timeout: .milliseconds(200)) }
                #expect(refused == .statementTimeout)
                try await migrate(in: server.connectionString(database: own), timeout: .minutes(1))
            }
            try await migrate(in: server.connectionString, timeout: .minutes(1))
        }
    }

    @Test func `refuses a history that does not fit`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await Migrator(migrations: [first]).run(on: database)
            let changed = Migration(version: 1, name: "first", sql: "CREATE TABLE a (n bigint)")
            #expect(await code { try await Migrator(migrations: [changed]).run(on: database) } == .migration)
            #expect(await code { try await Migrator(migrations: [second]).run(on: database) } == .migration)
            #expect(await code { try await Migrator(migrations: [first, first]).run(on: database) } == .migration)
            try await Migrator(migrations: [first, second]).run(on: database)
            try await database.execute("DELETE FROM schema_migrations WHERE version = 1")
            #expect(await code { try await Migrator(migrations: [first, second]).run(on: database) } == .migration)
        }
    }

    @Test func `a failing migration leaves nothing of itself`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            let broken = Migration(
                version: 2,
                name: "broken",
                sql: "CREATE TABLE half (n int); INSERT INTO a VALUES ('not a number')"
            )
            let failure = await code { try await Migrator(migrations: [first, broken]).run(on: database) }
            #expect(failure == .server)
            #expect(try await database.value("SELECT to_regclass('half') IS NULL", as: Bool.self))
            #expect(try await database.value("SELECT count(*) FROM schema_migrations", as: Int.self) == 1)
            let sneaky = Migration(version: 2, name: "sneaky", sql: "COMMIT; CREATE TABLE sneaked (n int)")
            #expect(await code { try await Migrator(migrations: [first, sneaky]).run(on: database) } == .server)
            #expect(try await database.value("SELECT count(*) FROM schema_migrations", as: Int.self) == 1)
            try await Migrator(migrations: [first, second]).run(on: database)
            #expect(database.health.connectionsLost == 0)
        }
    }

    @Test func `replicas that start together apply each migration once`() async throws {
        let server = try await PostgresServer.shared()
        let schema = PostgresServer.freshSchemaName()
        let migrations = (1...5).map { version in
            Migration(version: version, name: "m\(version)", sql: "CREATE TABLE t\(version) (n int); SELECT pg_sleep(0.02)")
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let configuration = DatabaseConfiguration(
                        connectionString: server.connectionString,
                        schema: schema,
                        poolSize: 2
                    )
                    let database = Database(configuration, logger: PostgresServer.silence)
                    try await database.start()
                    try await Migrator(migrations: migrations).run(on: database)
                    #expect(try await database.value("SELECT count(*) FROM schema_migrations", as: Int.self) == 5)
                    await database.stop()
                }
            }
            try await group.waitForAll()
        }
    }
}
