public import Foundation
private import Processes

/// Removes a folder after this process, and the servers in it, have ended, however it ends.
///
/// - Throws: when the process that waits for that cannot be started.
public func removeWhenTestsEnd(_ folder: URL) async throws {
    // Servers that end with this process may still write for a moment.
    _ = try await ChildProcess.spawn(
        Command(
            executable: "sh",
            arguments: [
                "-c", "tail --pid=$1 -f /dev/null; for n in 1 2 3; do rm -rf \"$2\"; sleep 1; done", "sh",
                "\(ProcessInfo.processInfo.processIdentifier)", folder.path,
            ],
            environment: Command.inherited(),
            deathSignal: "clear",
            output: "/dev/null"
        )
    )
}
