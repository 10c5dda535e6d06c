internal import Database
internal import Kernel
internal import Outbox
internal import Runtime

/// `<executable> events parked` and `<executable> events redrive [ID] [FEATURE]`: what an operator does about events whose handler failed too often.
/// Needs the database only; the running replicas do the rest.
enum EventsCommand {
    /// The command of a service.
    ///
    /// - Parameters:
    ///   - schema: the service's.
    ///   - replay: what has events from outside applied again; nil when the service keeps none.
    static func command(schema: String, replay: EventReplay? = nil) -> ProgramCommand {
        var help = """
                events parked                       lists events that were given up
                events redrive [ID] [FEATURE]       has one of them, or all, tried again, by one feature or by all that gave it up

            """
        if replay != nil { help += "    events replay [ID]                  has one event from outside, or all, applied again\n" }
        return ProgramCommand(
            "events",
            help: help,
            settings: ServiceSettings.all
        ) { words, settings in
            if let replay, words.first == "replay", words.count <= 2 {
                let id = words.count == 2 ? words[1] : nil
                let url = try settings.get(ServiceSettings.databaseURL)
                let count = try await CommandDatabase.open(schema: schema, url: url) { try await replay(id, $0) }
                guard count > 0 || id == nil else { throw Settings.Invalid("No event has the id \(words[1]).") }
                return ProgramCommand.Outcome("to be applied again: \(count)\n")
            }
            let action = try parse(words)
            let text = try await CommandDatabase.open(
                schema: schema,
                url: try settings.get(ServiceSettings.databaseURL)
            ) { database in
                try await action(ParkedEvents(database: database))
            }
            return ProgramCommand.Outcome(text)
        }
    }

    private static func parse(_ words: [String]) throws -> @Sendable (ParkedEvents) async throws -> String {
        switch (words.first, words.count) {
        case ("parked", 1): return { table(try await $0.list(limit: 1_000)) }
        case ("redrive", 1...3):
            let id = words.count > 1 ? EventID(words[1]) : nil
            guard id != nil || words.count < 3 else { throw Settings.Invalid("\(words[1]) is not the id of an event.") }
            let feature = words.dropFirst(id == nil ? 1 : 2).first
            return { events in
                let count = try await events.redrive(id, of: feature)
                guard count > 0 || words.count == 1 else {
                    let which = (id.map { " has the id \($0)" } ?? "") + (feature.map { " is of the feature \($0)" } ?? "")
                    throw Settings.Invalid("No parked event\(which).")
                }
                return "to be tried again: \(count)\n"
            }
        default: throw Settings.Invalid("Say what to do: events parked, or events redrive [ID] [FEATURE].")
        }
    }

    /// One line for each, its parts separated by tabs.
    private static func table(_ events: [ParkedEvent]) -> String {
        let lines = events.map { event in
            let error = String(event.lastError.map { $0.isNewline || $0 == "\t" ? " " : $0 })
            let parts = [
                "\(event.id)", event.feature, event.subject, event.aggregate, "\(event.attempts)", "\(event.parkedAt)", error,
            ]
            return parts.joined(separator: "\t") + "\n"
        }
        return lines.isEmpty
            ? "no event is parked\n"
            : "id\tfeature\tsubject\taggregate\tattempts\tparked at\tlast error\n" + lines.joined()
    }
}
