internal import Database
internal import Glibc
internal import Kernel
internal import Logging
internal import Runtime

/// What an operator does besides running the service: `streaks declare-outage FROM UNTIL`, `streaks outages`.
public enum StreaksCommands {
    /// An outage that is longer is a slip of the pen.
    private static let longest = Interval.days(14)

    /// Runs the command that the process's arguments name and ends the process; returns when they name none.
    public static func runIfAsked() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let name = arguments.first, ["declare-outage", "outages"].contains(name) else { return }
        do {
            Console.out(try await run(name, Array(arguments.dropFirst())) + "\n")
            exit(0)
        } catch let error as Settings.Invalid {
            Console.error("streaks \(name): \(error)\n")
            exit(64)
        } catch {
            Console.error("streaks \(name): \((error as? ServiceError)?.message ?? "\(error)")\n")
            exit(1)
        }
    }

    private static func run(_ name: String, _ arguments: [String]) async throws -> String {
        let words = Array(arguments.prefix { !$0.hasPrefix("--") })
        let isDeclaring = name == "declare-outage"
        guard words.count == (isDeclaring ? 2 : 0) else {
            throw Settings.Invalid(
                isDeclaring ? "Say from when until when: streaks declare-outage FROM UNTIL." : "There is nothing to say besides."
            )
        }
        let settings = try await Settings(
            arguments: Array(arguments.dropFirst(words.count)),
            environment: Console.environment(),
            declared: CommonSettings.service
        )
        let url = try settings.get(CommonSettings.databaseURL)
        return isDeclaring
            ? try await declareOutage(from: words[0], until: words[1], databaseURL: url) : try await outages(databaseURL: url)
    }

    /// Declares a time in which nobody could be expected to post (SD-7), also long afterwards. Running replicas undo within seconds what
    /// it broke; declaring the same again changes nothing.
    ///
    /// - Parameters:
    ///   - from: RFC 3339 with zone: `2026-05-04T20:00:00Z`.
    ///   - until: likewise, later, at most 14 days.
    /// - Returns: what was done, for the operator.
    /// - Throws: `Settings.Invalid` naming what is wrong; `DatabaseError`.
    public static func declareOutage(from: String, until: String, databaseURL: String) async throws -> String {
        guard let start = Instant(rfc3339: from) else { throw Settings.Invalid("FROM must be like 2026-05-04T20:00:00Z.") }
        guard let end = Instant(rfc3339: until) else { throw Settings.Invalid("UNTIL must be like 2026-05-04T23:00:00Z.") }
        guard start < end else { throw Settings.Invalid("UNTIL must be after FROM.") }
        guard end - start <= longest else { throw Settings.Invalid("UNTIL must be at most 14 days after FROM.") }
        return try await withDatabase(databaseURL) { database in
            let id: OutageID = UUIDv7Source(clock: SystemClock()).make()
            return try await OutageRepository.insert(id, from: start, until: end, database)
                ? "the outage from \(start) until \(end) is declared; running replicas carry it out, see: streaks outages"
                : "the outage from \(start) until \(end) was declared before"
        }
    }

    /// The declared outages with how far they have been carried out and at how many streaks that has looked.
    ///
    /// - Throws: `DatabaseError`.
    public static func outages(databaseURL: String) async throws -> String {
        try await withDatabase(databaseURL) { database in
            let lines = try await OutageRepository.list(database)
            return lines.isEmpty ? "no outage is declared" : (["from\tuntil\tstate\tstreaks"] + lines).joined(separator: "\n")
        }
    }

    private static func withDatabase(_ url: String, _ body: (Database) async throws -> String) async throws -> String {
        let database = Database(
            DatabaseConfiguration(
                connectionString: url,
                schema: StreaksModule.name,
                applicationName: "streaks outages",
                poolSize: 1
            ),
            logger: Logger(label: StreaksModule.name) { _ in SwiftLogNoOpLogHandler() }
        )
        try await database.start()
        do {
            let text = try await body(database)
            await database.stop()
            return text
        } catch {
            await database.stop()
            throw error
        }
    }
}
