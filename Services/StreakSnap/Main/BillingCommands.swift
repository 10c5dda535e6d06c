import BillingService
import DevEnvironment
import Runtime

extension BillingCommands {
    /// Has events of RevenueCat applied again while `up` runs, as `billing events replay` does.
    static let replayPurchases = ProgramCommand(
        "replay-purchases",
        words: "[EVENT]",
        about: "applies stored events of RevenueCat again, or one: after a change of the catalogue, or of what is accepted",
        settings: [RunningFolder.option]
    ) { words, settings in
        let url = try RunningFolder.environment(settings).postgresURL(of: "billing")
        return .init(try await replay(words.first, databaseURL: url) + "\n")
    }
}
