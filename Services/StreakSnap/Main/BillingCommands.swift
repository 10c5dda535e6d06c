import ArgumentParser
import BillingService
import DevEnvironment

/// Has events of RevenueCat applied again while `up` runs, as `billing events replay` does.
struct ReplayPurchases: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Apply stored events of RevenueCat again: after a change of the catalogue, or of what is accepted."
    )

    @Argument(help: "The id of one event; all without it.") var event: String?
    @Option(help: "The folder that up runs on.") var data = ".run/data"

    func run() async throws {
        try await reporting {
            try await BillingCommands.replay(
                event,
                databaseURL: try RunningEnvironment(dataFolder: data).postgresURL(of: "billing")
            )
        }
    }
}
