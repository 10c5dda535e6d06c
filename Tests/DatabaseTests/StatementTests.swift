import Database
import Kernel
import TestSupport
import Testing

@Suite struct StatementTests {
    @Test func `thousands of concurrent statements each get their own answer`() async throws {
        try await PostgresServer.shared().withDatabase(adjust: PostgresServer.patient) { database in
            try await database.execute("CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL)")
            try await database.execute("INSERT INTO counter SELECT i, 0 FROM generate_series(0, 99) i")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<5000 {
                    group.addTask { () async throws in
                        if number % 5 == 0 {
                            #expect(
                                try await database.execute("UPDATE counter SET n = n + 1 WHERE id = \(number / 5 % 100)") == 1
                            )
                        } else {
                            #expect(try await database.value("SELECT \(number) + 1", as: Int.self) == number + 1)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await database.value("SELECT sum(n) FROM counter", as: Int.self) == 1000)
            try await eventually { database.health.inFlight == 0 && database.health.waiting == 0 }
            #expect(database.health.connections >= 1 && database.health.connectionsLost == 0)
        }
    }

    @Test func `a plan made for an empty table still finds rows by index when it has grown`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) { database in
            try await database.execute("CREATE TABLE growing (id int PRIMARY KEY, word text NOT NULL)")
            try await database.execute("ANALYZE growing")
            // More often than PostgreSQL tries before it keeps a plan.
            for id in 0..<8 {
                #expect(try await database.query("SELECT word FROM growing WHERE id = ANY(\([Int32(id)]))").isEmpty)
            }
            try await database.execute("INSERT INTO growing SELECT i, 'w' || i FROM generate_series(1, 2000) AS i")
            #expect(try await database.query("SELECT word FROM growing WHERE id = ANY(\([Int32(7), 8]))").count == 2)
            try await eventually {
                try await database.value("SELECT idx_scan FROM pg_stat_user_tables WHERE relname = 'growing'", as: Int.self) >= 9
            }
            #expect(
                try await database.value("SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'growing'", as: Int.self) <= 2
            )
            let plans = try await database.query(
                "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE 'SELECT word%'"
            )
            let (generic, custom) = try #require(plans.first).decode(as: (Int.self, Int.self))
            #expect(generic == 9 && custom == 0, "planned once")
        }
    }

    @Test func `an operator's options override how statements are planned`() async throws {
        let server = try await PostgresServer.shared()
        let configuration = DatabaseConfiguration(
            connectionString: server.connectionString + " options='-c plan_cache_mode=auto'",
            schema: PostgresServer.freshSchemaName(),
            poolSize: 1
        )
        let database = Database(configuration, logger: PostgresServer.silence)
        try await database.start()
        #expect(try await database.value("SHOW plan_cache_mode", as: String.self) == "auto")
        #expect(try await database.value("SHOW enable_seqscan", as: String.self) == "off")
        await database.stop()
    }

    @Test func `a failing statement fails only its own caller`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 2, adjust: PostgresServer.patient) { database in
            try await database.execute("CREATE TABLE item (id int PRIMARY KEY CHECK (id >= 0))")
            let failures = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<2000 {
                    group.addTask { () async throws in
                        switch number % 5 {
                        case 0:
                            // A read that fails while it runs, among reads that share its sync.
                            let error = await #expect(throws: DatabaseError.self) { try await database.query("SELECT 1 / \(0)") }
                            #expect(error?.sqlState == "22012")
                            return 1
                        case 1:
                            // A statement the server does not take.
                            let error = await #expect(throws: DatabaseError.self) {
                                try await database.query("SELECT a FROM nowhere")
                            }
                            #expect(error?.sqlState == "42P01")
                            return 1
                        case 2:
                            #expect(
                                await code { try await database.execute("INSERT INTO item VALUES (\(-1))") } == .checkViolation
                            )
                            return 1
                        case 3:
                            #expect(try await database.execute("INSERT INTO item VALUES (\(number))") == 1)
                        default:
                            #expect(try await database.value("SELECT \(number)", as: Int.self) == number)
                        }
                        return 0
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(failures == 1200)
            #expect(try await database.value("SELECT count(*) FROM item", as: Int.self) == 400)
            #expect(database.health.connectionsLost == 0)
        }
    }

    @Test func `a deferred constraint fails the statement that broke it`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await database.execute("CREATE TABLE seat (n int CONSTRAINT seat_once UNIQUE DEFERRABLE INITIALLY DEFERRED)")
            try await database.execute("INSERT INTO seat VALUES (1)")
            await #expect {
                try await database.execute("INSERT INTO seat VALUES (1)")
            } throws: {
                ($0 as? DatabaseError)?.isUniqueViolation("seat_once") == true
            }
            await #expect {
                try await database.transaction { try await $0.execute("INSERT INTO seat VALUES (1)") }
            } throws: {
                ($0 as? DatabaseError)?.isUniqueViolation("seat_once") == true
            }
            #expect(try await database.value("SELECT count(*) FROM seat", as: Int.self) == 1)
            #expect(database.health.connectionsLost == 0)
        }
    }

    @Test func `what is interpolated never becomes SQL`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await database.execute("CREATE TABLE note (text text)")
            let evil = "'); DROP TABLE note; --"
            try await database.execute("INSERT INTO note VALUES (\(evil))")
            let condition: Query = "text = \(evil) AND \(1) = \(1)"
            let query: Query = "SELECT text, \("first") FROM note WHERE \(condition) AND text <> \("x") LIMIT \(5)"
            #expect(query.text == "SELECT text, $1 FROM note WHERE text = $2 AND $3 = $4 AND text <> $5 LIMIT $6")
            #expect(try await database.query(query).map { try $0.decode(as: (String.self, String.self)).0 } == [evil])
            let column = "strange \"name\"; DROP"
            #expect(try await database.query("SELECT 1 AS \(identifier: column)")[0].get(column, as: Int.self) == 1)
            #expect(try await database.value("SELECT \(raw: "1 + 1")", as: Int.self) == 2)
        }
    }

    @Test func `more prepared statements than are kept still work`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) {
            $0.statementCacheSize = 4
        } _: { database in
            for round in 0..<3 {
                for number in 0..<12 {
                    let name = "column_\(number)"
                    let row = try await database.query("SELECT \(round) AS \(identifier: name)")[0]
                    #expect(try row.get(name, as: Int.self) == round)
                }
            }
            let kept = try await database.value("SELECT count(*) FROM pg_prepared_statements", as: Int.self)
            #expect(kept <= 6)
        }
    }

    @Test func `a changed table does not break its prepared statements`() async throws {
        try await PostgresServer.shared().withDatabase(poolSize: 1) { database in
            try await database.execute("CREATE TABLE shape (a int)")
            try await database.execute("INSERT INTO shape VALUES (1)")
            #expect(try await database.query("SELECT * FROM shape")[0].columnCount == 1)
            try await database.execute("ALTER TABLE shape ADD COLUMN b text")
            #expect(try await database.query("SELECT * FROM shape")[0].columnCount == 2)
            try await database.execute("DEALLOCATE ALL")
            #expect(try await database.query("SELECT * FROM shape")[0].columnCount == 2)
            try await database.execute("ALTER TABLE shape DROP COLUMN b")
            // In a transaction the statement fails, and the transaction is run again.
            let columns = try await database.transaction { try await $0.query("SELECT * FROM shape")[0].columnCount }
            #expect(columns == 1)
        }
    }

    @Test func `connections are set up as configured`() async throws {
        try await PostgresServer.shared().withDatabase {
            $0.applicationName = "who is it"
            $0.statementTimeout = .milliseconds(4321)
        } _: { (database) async throws in
            #expect(try await database.value("SELECT current_schema()", as: String.self) == database.schema)
            #expect(try await database.value("SHOW application_name", as: String.self) == "who is it")
            #expect(try await database.value("SHOW statement_timeout", as: String.self) == "4321ms")
            #expect(try await database.value("SHOW timezone", as: String.self) == "UTC")
        }
    }

    @Test func `errors show no values and no SQL`() async throws {
        try await PostgresServer.shared().withDatabase { database in
            try await database.execute("CREATE TABLE account (email text CONSTRAINT account_email UNIQUE)")
            try await database.execute("INSERT INTO account VALUES (\("secret@example.org"))")
            let queries: [Query] = [
                "INSERT INTO account VALUES (\("secret@example.org"))", "SELECT \("secret@example.org")::int",
                "SELECT 'secret'::int",
                "SELECT 'secret' FROM nowhere", "SELECT secret(",
            ]
            for query in queries {
                let error = try #require(await #expect(throws: DatabaseError.self) { try await database.execute(query) })
                #expect(!"\(error)".contains("secret") && !"\(error)".contains("SELECT"))
                #expect(!String(reflecting: error).contains("secret@"))
            }
        }
    }

    @Test(arguments: ["Upper", "", "1a", "a b", "a\"b", "ä", String(repeating: "a", count: 64)])
    func `a schema that is no plain name is refused`(schema: String) async {
        let database = Database(DatabaseConfiguration(connectionString: "", schema: schema), logger: PostgresServer.silence)
        #expect(await code { try await database.start() } == .configuration)
    }

    @Test func `a connection string that is none is refused without showing it`() async throws {
        let database = Database(
            DatabaseConfiguration(connectionString: "password=hunter2 nonsense", schema: "a"),
            logger: PostgresServer.silence
        )
        let error = try #require(await #expect(throws: DatabaseError.self) { try await database.start() })
        #expect(error.code == .configuration && !String(reflecting: error).contains("hunter2"))
    }
}
