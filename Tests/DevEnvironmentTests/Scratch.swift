import DevEnvironment
import Foundation
import Logging
import Testing

let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

/// A folder of this test alone that the user postgres can enter, removed at the end.
func withDataFolder(_ body: (String) async throws -> Void) async throws {
    var template = Array("/tmp/devenv-XXXXXX".utf8CString)
    let path = try #require(mkdtemp(&template).map { String(cString: $0) })
    chmod(path, 0o755)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(path)
}

func configuration(_ folder: String) -> DevEnvironmentConfiguration {
    DevEnvironmentConfiguration(dataFolder: folder, postgresSettings: ["fsync": "off", "shared_buffers": "16MB"])
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

/// Runs a program to its end.
@discardableResult
func run(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws -> (status: Int32, output: String)
{
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    process.environment = environment.merging(["PATH": "/usr/bin:/bin:/usr/sbin"]) { given, _ in given }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
}

/// Runs SQL over a connection string; the output has one row a line.
func sql(_ url: String, _ statement: String) throws -> (status: Int32, output: String) {
    try run("/usr/lib/postgresql/15/bin/psql", ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url, "-c", statement])
}

/// Waits until a condition holds, for at most 20 seconds.
func until(_ what: String, _ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(20)
    while !(try await condition()) {
        try #require(ContinuousClock.now < deadline, "in time: \(what)")
        await Task.yield()
    }
}

func isAlive(_ pid: Int32) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
    // A process that has ended but has not been waited for is in state Z.
    return status.drop { $0 != ")" }.dropFirst(2).first != "Z"
}
