public import Database
internal import Logging

/// A service's database for a command of an operator.
public enum CommandDatabase {
    /// Opens the database, runs `body` with it, and closes it.
    ///
    /// - Throws: `DatabaseError`, and what `body` throws.
    public static func open<Result: Sendable>(
        schema: String,
        url: String,
        _ body: @Sendable (Database) async throws -> Result
    ) async throws -> Result {
        let database = Database(
            DatabaseConfiguration(connectionString: url, schema: schema, applicationName: "\(schema) command", poolSize: 2),
            logger: Logger(label: schema) { _ in SwiftLogNoOpLogHandler() }
        )
        try await database.start()
        do {
            let result = try await body(database)
            await database.stop()
            return result
        } catch {
            await database.stop()
            throw error
        }
    }
}
