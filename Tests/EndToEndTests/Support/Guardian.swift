import Foundation
import Processes

/// A program that lives no longer than its last reference, nor than this process, however that ends; its folder goes with it.
final class Guardian: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Where the program's output goes.
    let log: URL
    private let program: ChildProcess
    /// Open from the start: the folder goes as soon as the program has ended, and then is when what it said is wanted.
    private let reader: FileHandle

    /// - Parameter folder: exists, and is removed after the program has ended.
    init(_ command: [String], environment: [String: String] = [:], folder: URL) async throws {
        log = folder.appending(path: "up.log")
        guard FileManager.default.createFile(atPath: log.path, contents: nil) else {
            throw Failure(description: "\(log.path) cannot be made")
        }
        reader = try FileHandle(forReadingFrom: log)
        program = try await ChildProcess.spawn(
            Command(
                executable: command[0],
                arguments: Array(command.dropFirst()),
                environment: Command.inherited(environment),
                deathSignal: "TERM",
                output: log.path
            )
        )
        // What the program started may still write for a moment when it was ended early.
        _ = try await ChildProcess.spawn(
            Command(
                executable: "sh",
                arguments: [
                    "-c", "tail --pid=$1 -f /dev/null; for again in 1 2 3 4 5; do rm -rf \"$2\" && break; sleep 1; done", "sh",
                    "\(program.pid)", folder.path,
                ],
                environment: Command.inherited(),
                deathSignal: "clear",
                output: "/dev/null"
            )
        )
    }

    /// Its process id.
    var programID: Int32 { program.pid }

    /// What it has said so far, or said before it ended.
    func output() throws -> String {
        try reader.seek(toOffset: 0)
        return String(decoding: try reader.readToEnd() ?? Data(), as: UTF8.self)
    }

    /// Whether the program runs.
    var isRunning: Bool { !program.hasExited }

    /// Also a system that idles takes a part of a processor.
    deinit { Task { [program] in await Self.end(program) } }

    /// Ends the program and waits until it is gone.
    func end() async { await Self.end(program) }

    private static func end(_ program: ChildProcess) async {
        program.signal(SIGTERM)
        let timeout = Task { [program] in
            try await Task.sleep(for: .seconds(20))
            program.signal(SIGKILL)
        }
        _ = await program.waitForExit()
        timeout.cancel()
    }
}
