import Database
import Kernel
import Logging

/// The databases of worlds: each a copy of the one in which all services have made their tables.
struct WorldDatabases: Sendable {
    /// The database that is copied; nothing is connected to it while it is.
    private let template: String
    private let administrator: Database

    /// Connects as superuser to a database that is never copied.
    ///
    /// - Throws: `DatabaseError`.
    static func connect(_ url: String, copying template: String, logger: Logger) async throws -> WorldDatabases {
        var configuration = DatabaseConfiguration(
            connectionString: url,
            schema: "public",
            applicationName: "test-environment",
            poolSize: 3,
            statementTimeout: .seconds(60)
        )
        configuration.acquireTimeout = .seconds(60)
        let administrator = Database(configuration, logger: logger)
        try await administrator.start()
        return WorldDatabases(template: template, administrator: administrator)
    }

    /// Removes the databases of worlds that an earlier run left in a folder that lasts.
    ///
    /// - Throws: `DatabaseError`.
    func removeAll() async throws {
        let names = try await administrator.query("SELECT datname::text FROM pg_database WHERE datname ~ '^w[0-9]+$'")
        for row in names { try await drop(try row.decode(as: String.self)) }
    }

    /// Services have just ended, and PostgreSQL may not have noticed yet that their connections did.
    ///
    /// - Throws: `DatabaseError`.
    func waitUntilTemplateIsFree() async throws {
        for _ in 0..<500 where try await isTemplateUsed() { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// Makes the database of a world.
    ///
    /// - Throws: `DatabaseError`, also when something is connected to the template.
    func create(_ name: String) async throws {
        // Half the processor time of the default, which writes every page into the log: nothing is synced here.
        _ = try await administrator.execute(
            "CREATE DATABASE \(identifier: name) TEMPLATE \(identifier: template) STRATEGY file_copy"
        )
    }

    /// Removes the database of a world, and ends what is connected to it.
    ///
    /// - Throws: `DatabaseError`.
    func drop(_ name: String) async throws {
        _ = try await administrator.execute("DROP DATABASE IF EXISTS \(identifier: name) WITH (FORCE)")
    }

    private func isTemplateUsed() async throws -> Bool {
        try await !administrator.query("SELECT 1 FROM pg_stat_activity WHERE datname = \(template)").isEmpty
    }
}
