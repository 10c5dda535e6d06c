public import Database
public import Logging
private import Synchronization

/// What the databases of many tests begin with, such as the tables of a service. It is made once on the shared server and copied for each
/// test, which takes a third of the time that the migrations take.
public final class PostgresTemplate: Sendable {
    /// The schema that is prepared, and that the tests use.
    public static let schema = "world"

    private let name: String
    private let prepare: @Sendable (Database) async throws -> Void
    private let preparation = Mutex<Task<Server, any Error>?>(nil)
    private let copies = Atomic(0)

    /// The shared server, and a connection to it that makes and removes databases.
    private struct Server: Sendable {
        let server: PostgresServer
        let administrator: Database
    }

    /// - Parameters:
    ///   - name: lower-case letters; no two templates of a process may have the same.
    ///   - prepare: fills the empty schema.
    public init(_ name: String, _ prepare: @escaping @Sendable (Database) async throws -> Void) {
        self.name = name
        self.prepare = prepare
    }

    /// Runs `body` with a started database on a copy of the template, and removes the copy afterwards.
    ///
    /// - Parameters:
    ///   - poolSize: connections, at most; the shared server allows 500 in all.
    ///   - observer: notified of every statement.
    ///   - adjust: changes further settings.
    nonisolated(nonsending) public func withDatabase<Result>(
        poolSize: Int = 4,
        logger: Logger = PostgresServer.silence,
        observer: (any DatabaseObserver)? = nil,
        adjust: (inout DatabaseConfiguration) -> Void = { _ in },
        _ body: (Database) async throws -> Result
    ) async throws -> Result {
        let (server, copy) = try await copied()
        var configuration = Self.configuration(server.server, copy, poolSize: poolSize)
        adjust(&configuration)
        let database = Database(configuration, logger: logger, observer: observer)
        do {
            try await database.start()
            let result = try await body(database)
            await database.stop()
            try await remove(copy, from: server)
            return result
        } catch {
            await database.stop()
            try? await remove(copy, from: server)
            throw error
        }
    }

    private func copied() async throws -> (Server, String) {
        let task = preparation.withLock { preparation in
            let task = preparation ?? Task { [name, prepare] in try await Self.make(name, prepare) }
            preparation = task
            return task
        }
        let server = try await task.value
        let copy = "\(name)_\(copies.wrappingAdd(1, ordering: .relaxed).newValue)"
        // Files are copied faster than their pages are logged.
        let copying: Query = "CREATE DATABASE \(identifier: copy) TEMPLATE \(identifier: name) STRATEGY FILE_COPY"
        _ = try await server.administrator.execute(copying)
        return (server, copy)
    }

    private func remove(_ copy: String, from server: Server) async throws {
        _ = try await server.administrator.execute("DROP DATABASE \(identifier: copy) WITH (FORCE)")
    }

    private static func make(_ name: String, _ prepare: @Sendable (Database) async throws -> Void) async throws -> Server {
        let server = try await PostgresServer.shared()
        var configuration = configuration(server, "postgres", poolSize: 2)
        PostgresServer.patient(&configuration)
        let administrator = Database(configuration, logger: PostgresServer.silence)
        try await administrator.start()
        _ = try await administrator.execute("CREATE DATABASE \(identifier: name)")
        var own = Self.configuration(server, name, poolSize: 1)
        PostgresServer.patient(&own)
        let database = Database(own, logger: PostgresServer.silence)
        try await database.start()
        _ = try await database.execute("CREATE SCHEMA \(identifier: schema)")
        try await prepare(database)
        await database.stop()
        // A database that anything is connected to cannot be copied.
        try await eventually("nothing is connected to \(name)") {
            try await administrator.query("SELECT 1 FROM pg_stat_activity WHERE datname = \(name)").isEmpty
        }
        return Server(server: server, administrator: administrator)
    }

    private static func configuration(_ server: PostgresServer, _ name: String, poolSize: Int) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration(
            connectionString: server.connectionString(database: name),
            schema: schema,
            applicationName: "test",
            poolSize: poolSize
        )
        // As in `PostgresServer.withDatabase`.
        configuration.probeTimeout = .seconds(60)
        configuration.idleInTransactionTimeout = .seconds(60)
        return configuration
    }
}
