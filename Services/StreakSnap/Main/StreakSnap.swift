import ArgumentParser
import Runtime

/// The one binary for development and small installations (D10).
@main
struct StreakSnap: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "streaksnap",
        abstract: "All of StreakSnap in one binary.",
        version: BuildInfo.version,
        subcommands: [
            Up.self, Streams.self, Render.self, MakeAdmin.self, RemoveSecondFactor.self, RotateKey.self, DeclareOutage.self,
            ReplayPurchases.self, Photo.self,
            TestEnvironment.self,
        ]
    )
}
