import Foundation
import Processes
import Testing

/// What lies where.
struct RepositoryTests {
    private let tree: SourceTree

    init() throws { tree = try SourceTree.loaded.get() }

    @Test func `the top level is what it was agreed to be`() async throws {
        let agreed: Set = ["Package.swift", "Services", "Shared", "Proto", "Tests", "deploy", "README.md"]
        let found = Set(try await topLevel().filter { !$0.hasPrefix(".") })
        var violations = found.subtracting(agreed).map {
            Violation(path: $0, line: 1, problem: "does not belong at the top level")
        }
        violations += agreed.subtracting(found).map { Violation(path: $0, line: 1, problem: "is missing at the top level") }
        expectNone(violations, "The top level is fixed.")
    }

    /// The committed entries at the top; in an exported tree, those that lie there.
    private func topLevel() async throws -> [String] {
        guard FileManager.default.fileExists(atPath: tree.root.appending(path: ".git").path) else {
            return try FileManager.default.contentsOfDirectory(atPath: tree.root.path).filter { $0 != "Package.resolved" }
        }
        // The folder may belong to another user than the one who runs the tests.
        let git = try await run("git", ["-c", "safe.directory=*", "-C", tree.root.path, "ls-files", "-z"])
        #expect(git.status == 0, "\(git.errors)")
        return git.output.split(separator: 0).compactMap {
            String(decoding: $0, as: UTF8.self).split(separator: "/").first.map(String.init)
        }
    }
}
