import ArgumentParser
import AuthService
import DevEnvironment
import Kernel
import Runtime

/// Gives an account the rights of an administrator while `up` runs; the account's sessions end, since the role is in the token.
struct MakeAdmin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Make an account an administrator, while the system runs.")

    @Argument(help: "The account's e-mail.") var email: String
    @Option(help: "The folder that up runs on.") var data = ".run/data"
    @Flag(help: "Take the rights away instead.") var remove = false

    func run() async throws {
        try await reporting {
            try await AuthCommands.setAdmin(
                email: email,
                isAdmin: !remove,
                databaseURL: try RunningEnvironment(dataFolder: data).postgresURL(of: "auth")
            )
        }
    }
}

/// Removes the second factor of a user who has lost phone and recovery codes, while `up` runs.
struct RemoveSecondFactor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Remove a lost second factor, while the system runs.")

    @Argument(help: "The account's e-mail.") var email: String
    @Option(help: "The folder that up runs on.") var data = ".run/data"

    func run() async throws {
        try await reporting {
            try await AuthCommands.removeSecondFactor(
                email: email,
                databaseURL: try RunningEnvironment(dataFolder: data).postgresURL(of: "auth")
            )
        }
    }
}

/// Adds a key that signs access tokens; what runs takes it up without a restart.
struct RotateKey: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Add a new key that signs access tokens.")

    @Option(help: "The folder that up runs on.") var data = ".run/data"

    func run() async throws {
        try await reporting { try AuthCommands.rotateKey(folder: try RunningEnvironment(dataFolder: data).tokenKeyFolder()) }
    }
}

/// Says what was done, or what mends it.
func reporting(_ body: () async throws -> String) async throws {
    do { Console.out(try await body() + "\n") } catch {
        Console.error("streaksnap: \((error as? ServiceError)?.message ?? "\(error)")\n")
        throw ExitCode(1)
    }
}
