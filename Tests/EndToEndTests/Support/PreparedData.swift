import Foundation
import Processes
import TestSupport

/// The data folder of a system that has started once and has stopped: its cluster, roles, tables, streams and secrets. An installation that
/// begins with a copy starts in a third of the time.
enum PreparedData {
    private static let folder = Task { () async throws -> URL in
        let folder = try Installation.makeFolder()
        try await removeWhenTestsEnd(folder)
        let (data, ready) = (folder.appending(path: "data"), folder.appending(path: "ready"))
        let log = folder.appending(path: "log")
        let ports = try Installation.freePorts(3)
        let program = try await ChildProcess.spawn(
            Command(
                executable: Installation.binaries.appending(path: "streaksnap").path,
                arguments: [
                    "up", "--port", "\(ports[0])", "--nats-port", "\(ports[1])", "--postgres-port", "\(ports[2])",
                    "--data", data.path, "--ready-file", ready.path,
                ],
                environment: Command.inherited(),
                deathSignal: "TERM",
                output: log.path
            )
        )
        try await eventually("the first system is ready", within: .seconds(120)) {
            guard !program.hasExited else {
                throw Guardian.Failure(description: "streaksnap ended: \(Files.text(log)?.suffix(20_000) ?? "")")
            }
            return Files.text(ready) != nil
        }
        program.signal(SIGTERM)
        let status = await program.waitForExit()
        guard status == 0 else { throw Guardian.Failure(description: "streaksnap ended with \(status)") }
        // Each installation has logs of its own.
        try FileManager.default.removeItem(at: data.appending(path: "logs"))
        // Each has signing keys of its own: the token of one is worth nothing to another.
        let keys = data.appending(path: "secrets/token-keys")
        for file in try FileManager.default.contentsOfDirectory(at: keys, includingPropertiesForKeys: nil) {
            try FileManager.default.removeItem(at: file)
        }
        return data
    }

    /// Copies it to a place where nothing is yet, with owners and modes.
    static func copy(to data: URL) async throws {
        let copied = try await run("cp", ["-a", try await folder.value.path, data.path])
        guard copied.status == 0 else { throw Guardian.Failure(description: copied.transcript) }
    }
}
