internal import Database
internal import Kernel
internal import Runtime
internal import ServiceRuntime
internal import StreaksCore
internal import StreaksReplay

/// What an operator does besides running the service: `streaks declare-outage FROM UNTIL`, `streaks outages`.
public enum StreaksCommands {
    static let all = [
        ProgramCommand(
            "declare-outage",
            words: "FROM UNTIL [REASON]",
            about: "declares a time in which nothing could be posted; 2026-05-04T20:00:00Z",
            settings: ServiceSettings.all
        ) { words, settings in
            let url = try settings.get(ServiceSettings.databaseURL)
            let reason = words.count == 3 ? words[2] : ""
            return .init(try await declareOutage(from: words[0], until: words[1], reason: reason, databaseURL: url) + "\n")
        },
        ProgramCommand("outages", about: "lists the declared outages", settings: ServiceSettings.all) { _, settings in
            .init(try await outages(databaseURL: try settings.get(ServiceSettings.databaseURL)) + "\n")
        },
        ProgramCommand(
            "replay",
            words: "FILE",
            about: "plays a file of cases against the streak engine",
            settings: []
        ) { words, _ in
            let (output, exitCode) = await CaseReplay().run(file: words[0])
            return .init(output, exitCode: exitCode)
        },
    ]

    /// Declares a time in which no user could be expected to post (SD-7), also long afterwards. Running replicas undo within seconds what
    /// it broke; declaring the same again changes nothing.
    ///
    /// - Parameters:
    ///   - from: RFC 3339 with zone: `2026-05-04T20:00:00Z`.
    ///   - until: likewise, later, at most 14 days.
    ///   - reason: for who reads the list later; may be empty.
    /// - Returns: what was done, for the operator.
    /// - Throws: `Settings.Invalid` naming what is wrong; `DatabaseError`.
    public static func declareOutage(from: String, until: String, reason: String = "", databaseURL: String) async throws -> String
    {
        guard let start = Instant(rfc3339: from) else { throw Settings.Invalid("FROM must be like 2026-05-04T20:00:00Z.") }
        guard let end = Instant(rfc3339: until) else { throw Settings.Invalid("UNTIL must be like 2026-05-04T23:00:00Z.") }
        let declaration: OutageDeclaration
        do { declaration = try OutageDeclaration(from: start, until: end, reason: reason) } catch {
            switch error {
            case .isEmpty: throw Settings.Invalid("UNTIL must be after FROM.")
            case .isTooLong: throw Settings.Invalid("UNTIL must be at most 14 days after FROM.")
            }
        }
        return try await CommandDatabase.open(schema: StreaksModule.name, url: databaseURL) { database in
            try await declaration.declare(as: UUIDv7Source(clock: SystemClock()).make(), database).isNew
                ? "the outage from \(start) until \(end) is declared; running replicas carry it out, see: streaks outages"
                : "the outage from \(start) until \(end) was declared before"
        }
    }

    /// The declared outages with how far they have been carried out and how many streaks that has settled.
    ///
    /// - Throws: `DatabaseError`.
    public static func outages(databaseURL: String) async throws -> String {
        try await CommandDatabase.open(schema: StreaksModule.name, url: databaseURL) { database in
            let lines = try await OutageRepository.list(limit: 1_000, database).map { outage in
                // One line, whatever the reason holds.
                let reason = String(outage.reason.map { $0.isNewline || $0 == "\t" ? " " : $0 })
                return "\(outage.from)\t\(outage.until)\t\(outage.standing.rawValue)\t\(outage.settledStreaks)\t\(reason)"
            }
            return lines.isEmpty
                ? "no outage is declared" : (["from\tuntil\tstate\tstreaks\treason"] + lines).joined(separator: "\n")
        }
    }
}
