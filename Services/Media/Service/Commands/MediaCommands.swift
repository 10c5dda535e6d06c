internal import BlobConfiguration
internal import Database
internal import Glibc
internal import Kernel
internal import Logging
internal import Runtime

/// What an operator does besides running the service: `media check-blobs`.
public enum MediaCommands {
    private static let name = "check-blobs"
    private static let minutes = "--older-than"
    /// Differences that are told one by one.
    private static let mostLines = 200

    /// Runs the command that the process's arguments name and ends the process: with 0 when blobs and rows agree, 2 when they do not, 64
    /// for unusable arguments, 1 when it could not look. Returns when they name none.
    public static func runIfAsked() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.first == name else { return }
        do {
            let (age, rest) = try age(Array(arguments.dropFirst()))
            let settings = try await Settings(
                arguments: rest,
                environment: Console.environment(),
                declared: CommonSettings.service + MediaModule.settings
            )
            let result = try await check(settings, olderThan: age)
            for difference in result.differences.prefix(mostLines) { Console.out("\(difference)\n") }
            Console.out("\(result.blobs) blobs, \(result.rows) rows, \(result.differences.count) differences\n")
            exit(result.differences.isEmpty ? 0 : 2)
        } catch let error as Settings.Invalid {
            Console.error("media \(name): \(error)\n")
            exit(64)
        } catch {
            Console.error("media \(name): \((error as? ServiceError)?.message ?? "\(error)")\n")
            exit(1)
        }
    }

    /// Takes `--older-than MINUTES` out of the arguments; 10 by default.
    private static func age(_ arguments: [String]) throws -> (Interval, rest: [String]) {
        guard let place = arguments.firstIndex(of: minutes) else { return (.minutes(10), arguments) }
        guard arguments.indices.contains(place + 1), let count = Int64(arguments[place + 1]), (0...1_000_000).contains(count)
        else {
            throw Settings.Invalid("\(minutes) takes a number of minutes.")
        }
        var rest = arguments
        rest.removeSubrange(place...(place + 1))
        return (.minutes(count), rest)
    }

    private static func check(_ settings: Settings, olderThan age: Interval) async throws -> BlobCheck.Result {
        let logger = Logger(label: MediaModule.name) { _ in SwiftLogNoOpLogHandler() }
        let blobs = try await BlobSettings.store(settings, logger: logger)
        let database = Database(
            DatabaseConfiguration(
                connectionString: try settings.get(CommonSettings.databaseURL),
                schema: MediaModule.name,
                poolSize: 2
            ),
            logger: logger
        )
        try await database.start()
        let check = BlobCheck(repository: BlobCheckRepository(database: database), blobs: blobs, tables: BlobTable.all)
        do {
            let result = try await check.run(olderThan: age)
            await database.stop()
            return result
        } catch {
            await database.stop()
            throw error
        }
    }
}
