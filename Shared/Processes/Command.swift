private import Foundation
private import Glibc

/// A command to run.
package struct Command: Sendable {
    /// A path, or the name of a program on `PATH` or in the usual system folders.
    package var executable: String
    package var arguments: [String]
    /// The whole environment of the child.
    package var environment: [String: String]
    /// The user to run it as; only root can change it.
    package var user: String?
    /// The signal that the kernel sends the child when this process dies for any reason.
    package var deathSignal: String
    /// The file of standard input; nil: none.
    package var input: String?
    /// The file that standard output is appended to.
    package var output: String
    /// The file that standard error is appended to; nil: the same as `output`.
    package var errors: String?
    /// A socket for it to accept from, as its descriptor 3 (sd_listen_fds(3)).
    package var listener: ListeningSocket?

    package init(
        executable: String,
        arguments: [String],
        environment: [String: String] = [:],
        user: String? = nil,
        deathSignal: String = "KILL",
        input: String? = nil,
        output: String,
        errors: String? = nil,
        listener: ListeningSocket? = nil
    ) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.user = user
        self.deathSignal = deathSignal
        self.input = input
        self.output = output
        self.errors = errors
        self.listener = listener
    }

    /// The environment of this process, with changes.
    package static func inherited(_ changes: [String: String] = [:]) -> [String: String] {
        ProcessInfo.processInfo.environment.merging(changes) { $1 }
    }

    /// The path of a program on `PATH` or in the usual system folders; nil when there is none.
    package static func find(_ name: String) -> String? {
        if name.contains("/") { return FileManager.default.isExecutableFile(atPath: name) ? name : nil }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/local/bin", "/usr/bin", "/usr/sbin", "/bin", "/sbin"]
        return folders.lazy.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

/// A program cannot be started, or did not end in time.
package struct ProcessError: Error, CustomStringConvertible {
    package let description: String
}

/// The result of a program that has ended.
package struct FinishedCommand: Sendable {
    /// The exit code, or 128 + the signal that ended it.
    package let status: Int32
    package let output: [UInt8]
    package let errors: String

    package var text: String { String(decoding: output, as: UTF8.self) }

    /// Its standard output and standard error.
    package var transcript: String { text + errors }
}

/// Runs a program to its end, without blocking a thread.
///
/// Input and output use files: a pipe could fill, or be kept open by another child.
///
/// - Parameters:
///   - program: A path or a name on `PATH`.
///   - changes: Changes to the environment of this process.
///   - limit: The program is killed after this time, and when the task is cancelled.
/// - Throws: `ProcessError` when it cannot be started or does not end in time.
package func run(
    _ program: String,
    _ arguments: [String],
    environment changes: [String: String] = [:],
    input: [UInt8] = [],
    within limit: Duration = .seconds(180)
) async throws -> FinishedCommand {
    let folder = URL(filePath: try makeTemporaryFolder("run-"))
    defer { try? FileManager.default.removeItem(at: folder) }
    let (inputFile, outputFile, errorFile) =
        (folder.appending(path: "in"), folder.appending(path: "out"), folder.appending(path: "err"))
    try Data(input).write(to: inputFile)
    let child = try await ChildProcess.spawn(
        Command(
            executable: program,
            arguments: arguments,
            environment: Command.inherited(changes),
            input: inputFile.path,
            output: outputFile.path,
            errors: errorFile.path
        )
    )
    let watchdog = Task {
        try await Task.sleep(for: limit)
        child.signal(SIGKILL)
        throw ProcessError(description: "\(program) did not end within \(limit)")
    }
    let status = await withTaskCancellationHandler {
        await child.waitForExit()
    } onCancel: {
        child.signal(SIGKILL)
    }
    watchdog.cancel()
    if case .failure(let error as ProcessError) = await watchdog.result { throw error }
    return FinishedCommand(
        status: status,
        output: Array(try Data(contentsOf: outputFile)),
        errors: String(decoding: try Data(contentsOf: errorFile), as: UTF8.self)
    )
}
