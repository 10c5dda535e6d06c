public import Foundation

/// A program of this package that was built with the tests, near their own binary.
///
/// - Throws: when it is not there.
public func builtProgram(_ name: String) throws -> URL {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    for _ in 0..<6 {
        let file = folder.appendingPathComponent(name)
        if FileManager.default.isExecutableFile(atPath: file.path) { return file }
        folder.deleteLastPathComponent()
    }
    throw Missing(description: "no \(name) near \(CommandLine.arguments[0])")
}
