internal import Database
internal import Glibc
internal import Kernel
internal import Logging
internal import Outbox
internal import Runtime

/// What an operator does besides running the service: `auth rotate-key`, `auth make-admin EMAIL`, `auth remove-admin EMAIL`.
public enum AuthCommands {
    /// Runs the command that the process's arguments name and ends the process; returns when they name none.
    public static func runIfAsked() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let name = arguments.first, ["rotate-key", "make-admin", "remove-admin"].contains(name) else { return }
        do {
            Console.out(try await run(name, Array(arguments.dropFirst())) + "\n")
            exit(0)
        } catch let error as Settings.Invalid {
            Console.error("auth \(name): \(error)\n")
            exit(64)
        } catch {
            Console.error("auth \(name): \((error as? ServiceError)?.message ?? "\(error)")\n")
            exit(1)
        }
    }

    private static func run(_ name: String, _ arguments: [String]) async throws -> String {
        let isAboutKeys = name == "rotate-key"
        let email = isAboutKeys ? nil : arguments.first.flatMap { $0.hasPrefix("--") ? nil : $0 }
        let settings = try await Settings(
            arguments: Array(arguments.dropFirst(email == nil ? 0 : 1)),
            environment: Console.environment(),
            declared: CommonSettings.service + AuthModule.settings
        )
        if isAboutKeys { return try rotateKey(folder: try settings.get(AuthModule.keyFolder)) }
        guard let email else { throw Settings.Invalid("The account's e-mail is missing: auth \(name) EMAIL.") }
        return try await setAdmin(
            email: email,
            isAdmin: name == "make-admin",
            databaseURL: try settings.get(CommonSettings.databaseURL)
        )
    }

    /// Adds a signing key (AU-3). Running services publish it within seconds; it signs a minute later.
    ///
    /// - Returns: what was done, for the operator.
    /// - Throws: `Settings.Invalid` when the folder cannot be used.
    public static func rotateKey(folder: String) throws -> String {
        let file = try KeyFolder(path: folder).rotate(now: SystemClock.now())
        return "\(file): published within seconds, signs in a minute; the key before is published for another 20 minutes"
    }

    /// Makes somebody an administrator, or no longer one, and ends their sessions: the role is in the token.
    ///
    /// - Returns: what was done, for the operator.
    /// - Throws: `NOT_FOUND` when nobody has this e-mail; `DatabaseError`.
    public static func setAdmin(email: String, isAdmin: Bool, databaseURL: String) async throws -> String {
        let logger = Logger(label: AuthModule.name) { _ in SwiftLogNoOpLogHandler() }
        let database = Database(
            DatabaseConfiguration(connectionString: databaseURL, schema: AuthModule.name, poolSize: 2),
            logger: logger
        )
        try await database.start()
        let clock = SystemClock()
        let ids = UUIDv7Source(clock: clock)
        let work = UnitOfWorkFactory(database: database, clock: clock, ids: ids, relay: nil)
        let accounts = AccountRepository(database: database)
        let ender = SessionEnder(sessions: SessionRepository(database: database))
        do {
            let text = try await work.run(trace: "", requestID: "auth-command") { work -> String in
                guard var account = try await accounts.lock(email: email, work.sql) else {
                    throw ServiceError(.notFound, "NOT_FOUND", "Nobody has the e-mail \(email).")
                }
                guard account.isAdmin != isAdmin else {
                    return "\(email) \(isAdmin ? "is an administrator already" : "is no administrator")"
                }
                account.isAdmin = isAdmin
                _ = try await accounts.update(account, now: work.now, work.sql)
                let count = try await ender.end(of: account.id, work)
                return "\(email) is \(isAdmin ? "an administrator" : "no longer an administrator"); \(count) sessions ended"
            }
            await database.stop()
            return text
        } catch {
            await database.stop()
            throw error
        }
    }
}
