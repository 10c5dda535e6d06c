import DevEnvironment
import Foundation
import Logging
import Processes
import Testing

let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// A folder of this test alone that the user postgres can enter, removed at the end.
func withDataFolder(_ body: (String) async throws -> Void) async throws {
    let path = try makeTemporaryFolder("devenv-", mode: 0o755)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
}

func configuration(_ folder: String, postgresPort: UInt16? = nil) -> DevEnvironmentConfiguration {
    DevEnvironmentConfiguration(
        dataFolder: folder,
        postgresPort: postgresPort,
        // Its memory lies in its folder: in /dev/shm it would outlive a server that was killed.
        postgresSettings: ["fsync": "off", "shared_buffers": "16MB", "dynamic_shared_memory_type": "mmap"]
    )
}

/// A running environment of this test alone.
func withEnvironment(_ body: (DevEnvironment, Endpoints, String) async throws -> Void) async throws {
    try await withDataFolder { folder in
        let environment = DevEnvironment(configuration(folder), logger: silent)
        let endpoints = try await environment.start()
        do {
            try await body(environment, endpoints, folder)
        } catch {
            await environment.stop()
            throw error
        }
        await environment.stop()
    }
}

/// Runs SQL over a connection string; the output has one row a line.
@discardableResult
func sql(_ url: String, _ statement: String) async throws -> (status: Int32, output: String) {
    let result = try await run(
        "/usr/lib/postgresql/15/bin/psql",
        ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url, "-c", statement]
    )
    return (result.status, result.transcript)
}

/// Waits until a condition holds, for at most five minutes.
func until(_ what: String, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(300)
    while !(try await condition()) {
        try #require(ContinuousClock.now < deadline, "in time: \(what)")
        try await Task.sleep(for: .milliseconds(10))
    }
}

func isAlive(_ pid: Int32) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
    // A process that has ended but has not been waited for is in state Z.
    return status.drop { $0 != ")" }.dropFirst(2).first != "Z"
}
