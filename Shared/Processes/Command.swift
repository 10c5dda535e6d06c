private import Foundation
private import Glibc

/// What to run and how.
package struct Command: Sendable {
    /// A path, or the name of a program on `PATH` or in the usual system folders.
    package var executable: String
    package var arguments: [String]
    /// The whole environment of the child.
    package var environment: [String: String]
    /// Whom to become first; only root can.
    package var user: String?
    /// What the kernel sends the child when we die, however we die.
    package var deathSignal: String
    /// The file the child reads; nil for nothing.
    package var input: String?
    /// The file that what it writes is appended to.
    package var output: String
    /// The file that its error messages are appended to; nil for the same as `output`.
    package var errors: String?

    package init(
        executable: String,
        arguments: [String],
        environment: [String: String] = [:],
        user: String? = nil,
        deathSignal: String = "KILL",
        input: String? = nil,
        output: String,
        errors: String? = nil
    ) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.user = user
        self.deathSignal = deathSignal
        self.input = input
        self.output = output
        self.errors = errors
    }

    /// The environment of this process, changed.
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

/// What a program that ran to its end left behind.
package struct FinishedCommand: Sendable {
    /// The exit code, or 128 + the signal that ended it.
    package let status: Int32
    package let output: [UInt8]
    package let errors: String

    package var text: String { String(decoding: output, as: UTF8.self) }

    /// What it wrote to both.
    package var transcript: String { text + errors }
}

/// Runs a program to its end, without holding up a thread while it runs.
///
/// What it reads and writes goes through files: a pipe could fill, or be kept open by another child.
///
/// - Parameters:
///   - program: A path or a name on `PATH`.
///   - changes: What its environment has besides ours.
///   - limit: It is killed then.
/// - Throws: `ProcessError` when it cannot be started or does not end in time.
package func run(
    _ program: String,
    _ arguments: [String],
    environment changes: [String: String] = [:],
    input: [UInt8] = [],
    within limit: Duration = .seconds(180)
) async throws -> FinishedCommand {
    var template = Array((FileManager.default.temporaryDirectory.path + "/run-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else {
        throw ProcessError(description: "no temporary folder: \(String(cString: strerror(errno)))")
    }
    let folder = URL(filePath: String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
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
    let status = await child.waitForExit()
    watchdog.cancel()
    if case .failure(let error as ProcessError) = await watchdog.result { throw error }
    return FinishedCommand(
        status: status,
        output: Array(try Data(contentsOf: outputFile)),
        errors: String(decoding: try Data(contentsOf: errorFile), as: UTF8.self)
    )
}
