import ArgumentParser
import DevEnvironment
import StreaksService

/// Declares a time in which the service could not be reached, while `up` runs: streaks that it broke continue.
struct DeclareOutage: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Declare an outage, also afterwards: dates it took more than 2 h of break no streak."
    )

    @Argument(help: "Since when, like 2026-05-04T20:00:00Z.") var from: String
    @Argument(help: "Until when, likewise.") var until: String
    @Option(help: "The folder that up runs on.") var data = ".run/data"

    func run() async throws {
        try await reporting {
            try await StreaksCommands.declareOutage(
                from: from,
                until: until,
                databaseURL: try RunningEnvironment(dataFolder: data).postgresURL(of: "streaks")
            )
        }
    }
}
