private import Foundation
private import Glibc
private import Logging
private import Processes

/// Everything that a data folder must not lose, in one file (tar): the database, the photos and other files, and the secrets.
///
/// The database is dumped first, and what its rows name is copied after it, so that rows never name bytes that are missing. Streams of
/// events are not in it: the outboxes keep what has left, and publish it once more to an empty broker (deploy/README.md, Backup and
/// restore).
public struct Backup: Sendable {
    private static let dump = "database.dump"
    /// What there is besides the database. Files that uploads wait in are not stored yet.
    private static let folders = ["secrets", "blobs"]
    private static let unfinished = ["blobs/incoming", "blobs/.temporary"]

    private let configuration: DevEnvironmentConfiguration
    private var folder: String { configuration.dataFolder }

    /// Of the data folder of an environment.
    public init(dataFolder: String) { configuration = DevEnvironmentConfiguration(dataFolder: dataFolder) }

    /// Writes the file, which only its owner can read. An older one of the same name is replaced when the new one is whole.
    ///
    /// - Returns: its bytes.
    /// - Throws: `DevEnvironmentError` when PostgreSQL does not run there, and when a program fails, with what it says.
    @discardableResult
    public func write(to file: String) async throws -> Int64 {
        let variables = try RunningEnvironment(dataFolder: folder).superuserVariables()
        let target = URL(filePath: file)
        let draft = try makeTemporaryFolder(".streaksnap-backup-", in: target.deletingLastPathComponent().path)
        defer { try? FileManager.default.removeItem(atPath: draft) }
        let arguments = ["-Fc", "-f", "\(draft)/\(Self.dump)", PostgresRoles.database]
        try await perform("\(configuration.postgresFolder)/pg_dump", arguments, environment: variables)

        let archive = "\(draft)/archive"
        let found = Self.folders.filter { Files.exists("\(folder)/\($0)") }
        // 1: a photo was deleted while it was read, or others were added.
        try await perform(
            "tar",
            ["--create", "--file", archive, "--anchored"] + Self.unfinished.map { "--exclude=\($0)" }
                + ["--directory", draft, Self.dump, "--directory", folder] + found,
            succeeds: 0...1
        )
        chmod(archive, 0o600)
        try await perform("sync", [archive])
        var status = stat()
        guard stat(archive, &status) == 0, rename(archive, target.path) == 0 else {
            throw DevEnvironmentError("\(file) cannot be written: \(Files.reason(errno)).", wayOut: "Name another file.")
        }
        return Int64(status.st_size)
    }

    /// Makes the data folder of the file. It must be empty or missing, and stays so when this fails.
    ///
    /// Root may do it for another user, whose folder it is: everything is that user's afterwards.
    ///
    /// - Parameter services: those of other repositories that the system has had.
    /// - Throws: `DevEnvironmentError` when the folder is not empty, the file is no backup, or the servers do not start, and when a program
    ///   fails, with what it says.
    public func restore(from file: String, services: FurtherServices = .none) async throws {
        let isRoot = geteuid() == 0
        try Files.makeFolder(folder, mode: 0o700)
        var owner = stat()
        guard stat(folder, &owner) == 0, let names = try? FileManager.default.contentsOfDirectory(atPath: folder), names.isEmpty
        else {
            throw DevEnvironmentError(
                "The folder \(folder) is not empty, or cannot be read.",
                wayOut: "Stop what runs there and move it away, or name another folder with --data."
            )
        }
        // PostgreSQL, which root starts as another user, goes through it.
        try Files.makePrivateFolder(folder, isPassable: isRoot)
        let draft = "\(folder)/restoring"
        defer { try? FileManager.default.removeItem(atPath: draft) }
        try Files.makePrivateFolder(draft, isPassable: isRoot)
        try await fill(draft, from: file, services: services)
        if isRoot, owner.st_uid != 0 {
            try await perform("chown", ["--recursive", "\(owner.st_uid):\(owner.st_gid)", draft])
            try Files.makePrivateFolder(folder)
        }
        for name in Self.folders + ["postgres"] where Files.exists("\(draft)/\(name)") {
            try FileManager.default.moveItem(atPath: "\(draft)/\(name)", toPath: "\(folder)/\(name)")
        }
    }

    /// Unpacks the file, and restores the database into a PostgreSQL of its own.
    private func fill(_ draft: String, from file: String, services: FurtherServices) async throws {
        try await perform("tar", ["--extract", "--file", file, "--no-same-owner", "--directory", draft])
        guard Files.exists("\(draft)/\(Self.dump)"), Files.exists("\(draft)/secrets") else {
            throw DevEnvironmentError(
                "\(file) is no backup of streaksnap.",
                wayOut: "Name a file that streaksnap backup has made."
            )
        }
        var configuration = configuration
        configuration.dataFolder = draft
        configuration.services = services
        let environment = DevEnvironment(configuration, logger: Logger(label: "restore") { _ in SwiftLogNoOpLogHandler() })
        _ = try await environment.start()
        do {
            try await perform(
                "\(configuration.postgresFolder)/pg_restore",
                [
                    "--clean", "--if-exists", "--exit-on-error", "--single-transaction", "-d", PostgresRoles.database,
                    "\(draft)/\(Self.dump)",
                ],
                environment: try RunningEnvironment(dataFolder: draft).superuserVariables()
            )
        } catch {
            await environment.stop()
            throw error
        }
        await environment.stop()
    }

    private func perform(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        succeeds: ClosedRange<Int32> = 0...0
    ) async throws {
        // However large it is.
        let result = try await run(program, arguments, environment: environment, within: .seconds(7 * 86_400))
        guard succeeds.contains(result.status) else {
            throw DevEnvironmentError(
                "\(program) ended with status \(result.status): \(result.transcript.trimmingCharacters(in: .newlines))",
                wayOut: "Mend that, and run the command again."
            )
        }
    }
}
