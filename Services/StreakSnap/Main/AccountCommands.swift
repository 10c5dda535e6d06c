import AuthService
import DevEnvironment
import Runtime

/// What an operator does with accounts and keys while `up` runs.
enum AccountCommands {
    /// Gives an account the rights of an administrator; the account's sessions end, since the role is in the token.
    static let makeAdmin = ProgramCommand(
        "make-admin",
        words: "EMAIL",
        about: "makes an account an administrator, while the system runs",
        settings: [RunningFolder.option, remove]
    ) { words, settings in
        let text = try await AuthCommands.setAdmin(
            email: words[0],
            isAdmin: !(try settings.get(remove)),
            databaseURL: try RunningFolder.environment(settings).postgresURL(of: "auth")
        )
        return .init(text + "\n")
    }

    private static let remove = Setting(option: "remove", default: false, help: "Take the rights away instead.")

    /// Removes the second factor of a user who has lost phone and recovery codes.
    static let removeSecondFactor = ProgramCommand(
        "remove-second-factor",
        words: "EMAIL",
        about: "removes a lost second factor, while the system runs",
        settings: [RunningFolder.option]
    ) { words, settings in
        let url = try RunningFolder.environment(settings).postgresURL(of: "auth")
        return .init(try await AuthCommands.removeSecondFactor(email: words[0], databaseURL: url) + "\n")
    }

    /// Adds a key that signs access tokens; what runs takes it up without a restart.
    static let rotateKey = ProgramCommand(
        "rotate-key",
        about: "adds a new key that signs access tokens",
        settings: [RunningFolder.option]
    ) { _, settings in
        .init(try AuthCommands.rotateKey(folder: try RunningFolder.environment(settings).tokenKeyFolder()) + "\n")
    }
}

/// Where the `up` is that a command is about.
enum RunningFolder {
    static let option = Setting(option: "data", default: ".run/data", help: "The folder that up runs on.")

    static func environment(_ settings: Settings) throws -> RunningEnvironment {
        RunningEnvironment(dataFolder: try settings.get(option))
    }
}
