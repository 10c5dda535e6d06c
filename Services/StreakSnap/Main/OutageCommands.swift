import DevEnvironment
import Runtime
import StreaksService

enum OutageCommands {
    /// Declares a time in which the service could not be reached, while `up` runs: streaks that it broke continue.
    static let declareOutage = ProgramCommand(
        "declare-outage",
        words: "FROM UNTIL",
        about: "declares an outage, also afterwards: dates it took more than 2 h of break no streak; 2026-05-04T20:00:00Z",
        settings: [RunningFolder.option]
    ) { words, settings in
        let url = try RunningFolder.environment(settings).postgresURL(of: "streaks")
        return .init(try await StreaksCommands.declareOutage(from: words[0], until: words[1], databaseURL: url) + "\n")
    }
}
