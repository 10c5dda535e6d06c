public import Database
public import Logging
private import Synchronization

extension PostgresServer {
    /// A logger that says nothing.
    public static var silence: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

    /// A schema name that no other test of this process has.
    public static func freshSchemaName() -> String {
        "test_\(schemaCount.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    private static let schemaCount = Atomic(0)

    /// For tests in which many wait for one row or lock while everything else runs beside them.
    public static func patient(_ configuration: inout DatabaseConfiguration) {
        configuration.acquireTimeout = .seconds(60)
        configuration.statementTimeout = .seconds(60)
    }

    /// Runs `body` with a started database on a fresh schema, and stops it afterwards.
    ///
    /// - Parameters:
    ///   - poolSize: connections, at most; the shared server allows 500 in all.
    ///   - adjust: changes further settings.
    nonisolated(nonsending) public func withDatabase<Result>(
        poolSize: Int = 4,
        logger: Logger = silence,
        adjust: (inout DatabaseConfiguration) -> Void = { _ in },
        _ body: (Database) async throws -> Result
    ) async throws -> Result {
        var configuration = DatabaseConfiguration(
            connectionString: connectionString,
            schema: Self.freshSchemaName(),
            applicationName: "test",
            poolSize: poolSize
        )
        // The server is up, however long it takes while everything runs at once; and a test that computes for seconds on the threads that
        // all tests share makes no transaction of another one idle.
        configuration.probeTimeout = .seconds(60)
        configuration.idleInTransactionTimeout = .seconds(60)
        adjust(&configuration)
        let database = Database(configuration, logger: logger)
        try await database.start()
        do {
            try await database.execute("CREATE SCHEMA IF NOT EXISTS \(identifier: configuration.schema)")
            let result = try await body(database)
            await database.stop()
            return result
        } catch {
            await database.stop()
            throw error
        }
    }
}
