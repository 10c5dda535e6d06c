internal import AuthAccounts
internal import AuthCore
internal import Database
internal import Kernel
internal import Outbox
internal import Runtime
internal import ServiceRuntime

/// What an operator does besides running the service: `auth rotate-key`, `auth make-admin EMAIL`, `auth remove-admin EMAIL`,
/// `auth remove-second-factor EMAIL`.
public enum AuthCommands {
    static let all = [
        ProgramCommand("rotate-key", about: "adds a signing key", settings: AuthModule.settings) { _, settings in
            .init(try rotateKey(folder: try settings.get(AccountsFeature.keyFolder)) + "\n")
        },
        setAdmin("make-admin", about: "makes a user an administrator", isAdmin: true),
        setAdmin("remove-admin", about: "makes an administrator an ordinary user again", isAdmin: false),
        ProgramCommand(
            "remove-second-factor",
            words: "EMAIL",
            about: "removes a second factor whose phone and recovery codes are lost",
            settings: AuthModule.settings
        ) { words, settings in
            let url = try settings.get(ServiceSettings.databaseURL)
            return .init(try await removeSecondFactor(email: words[0], databaseURL: url) + "\n")
        },
    ]

    private static func setAdmin(_ name: String, about: String, isAdmin: Bool) -> ProgramCommand {
        ProgramCommand(name, words: "EMAIL", about: about, settings: AuthModule.settings) { words, settings in
            let url = try settings.get(ServiceSettings.databaseURL)
            return .init(try await setAdmin(email: words[0], isAdmin: isAdmin, databaseURL: url) + "\n")
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
        try await change(email, databaseURL) { account, accounts, ender, work in
            var account = account
            guard account.isAdmin != isAdmin else {
                return "\(email) \(isAdmin ? "is an administrator already" : "is no administrator")"
            }
            account.isAdmin = isAdmin
            _ = try await accounts.update(account, now: work.now, work.sql)
            let count = try await ender.endAll(of: account.id, work)
            return "\(email) is \(isAdmin ? "an administrator" : "no longer an administrator"); \(ended(count))"
        }
    }

    private static func ended(_ sessions: Int) -> String { "\(sessions == 1 ? "1 session" : "\(sessions) sessions") ended" }

    /// Removes the second factor of a user who has lost it, and ends their sessions. The operator must know that it is that user who asks: with the
    /// password alone they can sign in after that, and get a new one. The audit log has an entry of it.
    ///
    /// - Returns: what was done, for the operator.
    /// - Throws: `NOT_FOUND` when no account has this e-mail; `DatabaseError`.
    public static func removeSecondFactor(email: String, databaseURL: String) async throws -> String {
        try await change(email, databaseURL) { account, _, ender, work in
            guard try await LostSecondFactor.remove(of: account, work) else { return "\(email) has no second factor" }
            let count = try await ender.endAll(of: account.id, work)
            return "\(email) has no second factor any more; \(ended(count))"
        }
    }

    /// A transaction about the account that has an e-mail.
    private static func change(
        _ email: String,
        _ databaseURL: String,
        _ body: @escaping @Sendable (Account, AccountRepository, SessionEnder, UnitOfWork) async throws -> String
    ) async throws -> String {
        try await CommandDatabase.open(schema: AuthModule.name, url: databaseURL) { database in
            let clock = SystemClock()
            let work = UnitOfWorkFactory(database: database, clock: clock, ids: UUIDv7Source(clock: clock), relay: nil)
            let accounts = AccountRepository(database: database)
            let ender = SessionEnder(database: database)
            return try await work.run(trace: "", requestID: "auth-command") { work -> String in
                guard let account = try await accounts.lock(email: email, work.sql) else {
                    throw ServiceError(.notFound, "NOT_FOUND", "No account has the e-mail \(email).")
                }
                return try await body(account, accounts, ender, work)
            }
        }
    }
}
