import Foundation

/// What a finished command left behind.
struct CommandResult {
    var status: Int32
    /// Standard output and error together.
    var output: String
}

/// Runs a command to its end.
func run(_ command: String, _ arguments: [String], environment: [String: String] = [:]) throws -> CommandResult {
    let outputFile = FileManager.default.temporaryDirectory.appendingPathComponent("streaksnap-\(UUID().uuidString).out")
    try Data().write(to: outputFile)
    defer { try? FileManager.default.removeItem(at: outputFile) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [command] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let output = try FileHandle(forWritingTo: outputFile)
    process.standardOutput = output
    process.standardError = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    let text = String(decoding: try Data(contentsOf: outputFile), as: UTF8.self)
    return CommandResult(status: process.terminationStatus, output: text)
}

/// The folder of the repository.
let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

/// The plugin that was built with these tests: it lies beside the test binary.
func pluginPath() throws -> String {
    if let path = ProcessInfo.processInfo.environment["STREAKSNAP_PLUGIN"] { return path }
    let binary = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    return binary.deletingLastPathComponent().appendingPathComponent("protoc-gen-streaksnap").path
}
