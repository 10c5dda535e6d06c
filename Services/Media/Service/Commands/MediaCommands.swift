internal import BlobConfiguration
internal import Kernel
internal import Logging
internal import MediaCore
internal import Runtime
internal import ServiceRuntime

/// What an operator does besides running the service: `media check-blobs`.
enum MediaCommands {
    private static let minutes = Setting("older-than", default: 10, help: "Blobs younger than so many minutes are not judged.")
    /// Differences that are listed one by one.
    private static let mostLines = 200

    /// Ends with 0 when blobs and rows agree, 2 when they do not.
    static let checkBlobs = ProgramCommand(
        "check-blobs",
        about: "compares the blob store with the tables, but for what is younger than --older-than MINUTES",
        settings: MediaModule.settings + [minutes]
    ) { _, settings in
        let age = try settings.get(minutes)
        guard (0...1_000_000).contains(age) else { throw Settings.Invalid("--older-than takes a number of minutes.") }
        let result = try await check(settings, olderThan: .minutes(Int64(age)))
        let lines = result.differences.prefix(mostLines).map { "\($0)\n" }.joined()
        let summary = "\(result.blobs) blobs, \(result.rows) rows, \(result.differences.count) differences\n"
        return .init(lines + summary, exitCode: result.differences.isEmpty ? 0 : 2)
    }

    private static func check(_ settings: Settings, olderThan age: Interval) async throws -> BlobCheck.Result {
        let blobs = try await BlobSettings.store(
            settings,
            logger: Logger(label: MediaModule.name) { _ in SwiftLogNoOpLogHandler() }
        )
        let url = try settings.get(ServiceSettings.databaseURL)
        return try await CommandDatabase.open(schema: MediaModule.name, url: url) { database in
            let check = BlobCheck(repository: BlobCheckRepository(database: database), blobs: blobs, tables: MediaModule.blobs)
            return try await check.run(olderThan: age)
        }
    }
}
