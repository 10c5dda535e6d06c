internal import Database
internal import Kernel
internal import Logging
internal import Outbox

/// `<executable> events parked` and `<executable> events redrive [ID]`, with the settings of the service: what an operator does about
/// events whose handler failed too often. Needs the database only; the running replicas do the rest.
struct EventsCommand {
    static let help = """

        events parked         lists events that were given up
        events redrive [ID]   has one of them, or all, tried again

        """

    private let words: [String]
    /// The arguments that are settings.
    let remaining: [String]

    /// nil when the arguments are not this command.
    init?(_ arguments: [String]) {
        guard arguments.first == "events" else { return nil }
        words = Array(arguments.dropFirst().prefix { !$0.hasPrefix("--") })
        remaining = Array(arguments.dropFirst(1 + words.count))
    }

    /// Does it.
    ///
    /// - Parameter schema: the service's.
    /// - Returns: what to show.
    /// - Throws: `Settings.Invalid` for words it does not know, `DatabaseError`.
    func run(schema: String, _ settings: Settings) async throws -> String {
        let action = try parse()
        let database = Database(
            DatabaseConfiguration(
                connectionString: try settings.get(CommonSettings.databaseURL),
                schema: schema,
                applicationName: "\(schema) events",
                poolSize: 1
            ),
            logger: try Logger(service: schema, settings: settings)
        )
        try await database.start()
        do {
            let text = try await action(ParkedEvents(database: database))
            await database.stop()
            return text
        } catch {
            await database.stop()
            throw error
        }
    }

    private func parse() throws -> @Sendable (ParkedEvents) async throws -> String {
        switch (words.first, words.count) {
        case ("parked", 1): return { try await Self.table($0.list(limit: 1_000)) }
        case ("redrive", 1): return { "to be tried again: \(try await $0.redrive())\n" }
        case ("redrive", 2):
            guard let id = EventID(words[1]) else { throw Settings.Invalid("\(words[1]) is not the id of an event.") }
            return { events in
                guard try await events.redrive(id) == 1 else { throw Settings.Invalid("No parked event has the id \(id).") }
                return "to be tried again: 1\n"
            }
        default: throw Settings.Invalid("What about events?\n" + Self.help)
        }
    }

    /// One line for each, its parts separated by tabs.
    private static func table(_ events: [ParkedEvent]) -> String {
        let lines = events.map { event in
            let error = String(event.lastError.map { $0.isNewline || $0 == "\t" ? " " : $0 })
            return "\(event.id)\t\(event.subject)\t\(event.aggregate)\t\(event.attempts)\t\(event.parkedAt)\t\(error)\n"
        }
        return lines.isEmpty
            ? "no event is parked\n" : "id\tsubject\taggregate\tattempts\tparked at\tlast error\n" + lines.joined()
    }
}
