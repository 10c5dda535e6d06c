internal import AuthAccounts
internal import AuthCore
internal import Database
internal import Kernel
internal import Outbox
internal import Runtime
internal import ServiceRuntime

/// What an operator does besides running the service: `auth rotate-key`, `auth make-admin EMAIL`, `auth remove-admin EMAIL`.
public enum AuthCommands {
    static let all = [
        ProgramCommand(
            "rotate-key",
            help: "    rotate-key            adds a signing key\n",
            settings: AuthModule.settings
        ) { words, settings in
            guard words.isEmpty else { throw Settings.Invalid("Nothing follows rotate-key but settings.") }
            return .init(try rotateKey(folder: try settings.get(AccountsFeature.keyFolder)) + "\n")
        },
        setAdmin("make-admin", help: "    make-admin EMAIL      makes a user an administrator\n", isAdmin: true),
        setAdmin(
            "remove-admin",
            help: "    remove-admin EMAIL    makes an administrator an ordinary user again\n",
            isAdmin: false
        ),
    ]

    private static func setAdmin(_ name: String, help: String, isAdmin: Bool) -> ProgramCommand {
        ProgramCommand(name, help: help, settings: AuthModule.settings) { words, settings in
            guard let email = words.first, words.count == 1 else {
                throw Settings.Invalid("The account's e-mail is missing: auth \(name) EMAIL.")
            }
            let url = try settings.get(ServiceSettings.databaseURL)
            return .init(try await setAdmin(email: email, isAdmin: isAdmin, databaseURL: url) + "\n")
        }
    }

    /// Adds a signing key (AU-3). Running services publish it within seconds; it signs a minute later.
    ///
    /// - Returns: what was done, for the operator.
    /// - Throws: `Settings.Invalid` when the folder cannot be used.
    public static func rotateKey(folder: String) throws -> String {
        let file = try KeyFolder(path: folder).rotate(now: SystemClock.now())
        return "\(file): published within seconds, signs in a minute; the key before is published for another 20 minutes"
    }

    /// Makes a user an administrator, or no longer one, and ends their sessions: the role is in the token.
    ///
    /// - Returns: what was done, for the operator.
    /// - Throws: `NOT_FOUND` when no account has this e-mail; `DatabaseError`.
    public static func setAdmin(email: String, isAdmin: Bool, databaseURL: String) async throws -> String {
        try await CommandDatabase.open(schema: AuthModule.name, url: databaseURL) { database in
            let clock = SystemClock()
            let work = UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: clock), relay: nil)
            let accounts = AccountRepository(database: database)
            let ender = SessionEnder(database: database)
            return try await work.run(trace: "", requestID: "auth-command") { work -> String in
                guard var account = try await accounts.lock(email: email, work.sql) else {
                    throw ServiceError(.notFound, "NOT_FOUND", "No account has the e-mail \(email).")
                }
                guard account.isAdmin != isAdmin else {
                    return "\(email) \(isAdmin ? "is an administrator already" : "is no administrator")"
                }
                account.isAdmin = isAdmin
                _ = try await accounts.update(account, now: work.now, work.sql)
                let count = try await ender.endAll(of: account.id, work)
                return "\(email) is \(isAdmin ? "an administrator" : "no longer an administrator"); \(count) sessions ended"
            }
        }
    }
}
