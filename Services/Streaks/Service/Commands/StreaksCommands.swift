internal import Database
internal import Kernel
internal import Runtime
internal import ServiceRuntime
internal import StreaksCore
internal import StreaksReplay

/// What an operator does besides running the service: `streaks declare-outage FROM UNTIL`, `streaks outages`.
public enum StreaksCommands {
    /// A longer outage is most likely a mistyped date.
    private static let longest = Interval.days(14)

    static let all = [
        ProgramCommand(
            "declare-outage",
            help: "    declare-outage FROM UNTIL   declares a time in which nothing could be posted; 2026-05-04T20:00:00Z\n",
            settings: ServiceSettings.all
        ) { words, settings in
            guard words.count == 2 else {
                throw Settings.Invalid("Say from when until when: streaks declare-outage FROM UNTIL.")
            }
            let url = try settings.get(ServiceSettings.databaseURL)
            return .init(try await declareOutage(from: words[0], until: words[1], databaseURL: url) + "\n")
        },
        ProgramCommand(
            "outages",
            help: "    outages                     lists the declared outages\n",
            settings: ServiceSettings.all
        ) { words, settings in
            guard words.isEmpty else { throw Settings.Invalid("Nothing follows outages but settings.") }
            return .init(try await outages(databaseURL: try settings.get(ServiceSettings.databaseURL)) + "\n")
        },
        ProgramCommand(
            "replay",
            help: "    replay FILE                 plays a file of cases against the streak engine\n",
            settings: []
        ) { words, _ in
            guard let file = words.first, words.count == 1 else { throw Settings.Invalid("Say which file: streaks replay FILE.") }
            let (output, exitCode) = await CaseReplay().run(file: file)
            return .init(output, exitCode: exitCode)
        },
    ]

    /// Declares a time in which no user could be expected to post (SD-7), also long afterwards. Running replicas undo within seconds what
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
        return try await CommandDatabase.open(schema: StreaksModule.name, url: databaseURL) { database in
            let id: OutageID = UUIDv7Source(clock: SystemClock()).make()
            return try await OutageRepository.insert(id, from: start, until: end, database)
                ? "the outage from \(start) until \(end) is declared; running replicas carry it out, see: streaks outages"
                : "the outage from \(start) until \(end) was declared before"
        }
    }

    /// The declared outages with how far they have been carried out and how many streaks that has settled.
    ///
    /// - Throws: `DatabaseError`.
    public static func outages(databaseURL: String) async throws -> String {
        try await CommandDatabase.open(schema: StreaksModule.name, url: databaseURL) { database in
            let lines = try await OutageRepository.list(database)
            return lines.isEmpty ? "no outage is declared" : (["from\tuntil\tstate\tstreaks"] + lines).joined(separator: "\n")
        }
    }
}
