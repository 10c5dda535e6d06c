import DevEnvironment
import Runtime

/// What one command saves, and another brings back.
enum BackupCommands {
    /// Writes database, files and keys into one file while `up` runs.
    static let backup = ProgramCommand(
        "backup",
        words: "FILE",
        about: "copies database, photos and keys into one file, while the system runs",
        settings: [RunningFolder.option]
    ) { words, settings in
        let size = try await Backup(dataFolder: try settings.get(RunningFolder.option)).write(to: words[0])
        return .init("\(words[0]): \(size) bytes\n")
    }

    /// Makes a data folder of such a file.
    static let restore = ProgramCommand(
        "restore",
        words: "FILE",
        about: "makes the empty folder --data of what backup has copied",
        settings: [RunningFolder.option, FurtherServices.option]
    ) { words, settings in
        let data = try settings.get(RunningFolder.option)
        let further = try FurtherServices.given(try settings.find(FurtherServices.option))
        try await Backup(dataFolder: data).restore(from: words[0], services: further)
        return .init("\(data) is as it was; streaksnap up --data \(data) starts it\n")
    }
}
