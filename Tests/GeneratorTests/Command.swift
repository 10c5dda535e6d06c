import Foundation

/// The folder of the repository.
let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

/// The plugin that was built with these tests: it lies beside the test binary.
func pluginPath() throws -> String {
    if let path = ProcessInfo.processInfo.environment["STREAKSNAP_PLUGIN"] { return path }
    let binary = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    return binary.deletingLastPathComponent().appendingPathComponent("protoc-gen-streaksnap").path
}
