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

/// The folder of this test process: a server's own is in it, so that none is left, however the process ends.
private let ownFolder = Task {
    let folder = URL(filePath: try makeTemporaryFolder("streaksnap-tests-", mode: 0o755))
    try await removeWhenTestsEnd(folder)
    return folder
}

/// Makes a folder for a server of these tests.
///
/// - Parameter name: the beginning of the folder's name.
func makeServerFolder(_ name: String) async throws -> URL {
    URL(filePath: try makeTemporaryFolder("\(name)-", in: try await ownFolder.value.path, mode: 0o755))
}
