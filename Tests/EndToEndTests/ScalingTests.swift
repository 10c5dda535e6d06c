import Foundation
import Processes
import TestSupport
import Testing

/// What `deploy/docs/beyond-one-machine.md` says, held against sources and migrations. Nothing has to run for it.
struct ScalingTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized.path

    @Test func `every table names its distribution key, and statements that leave it are listed`() async throws {
        try await passes("statement_keys.py", [Self.root], prints: "ok\n")
    }

    @Test func `the tables of the document are what the programs print`() async throws {
        try await passes("quoted.py", [Self.root], prints: "ok\n")
    }

    @Test func `the analysis of statements says of known ones what they ask for`() async throws {
        try await passes("test_keyed.py", [], prints: nil)
    }

    private func passes(_ script: String, _ arguments: [String], prints expected: String?) async throws {
        let python = try await PythonPackages.sql.value
        let result = try await run(python, [PythonPackages.file("Scaling/\(script)")] + arguments, within: .seconds(300))
        #expect(result.status == 0 && (expected == nil || result.transcript == expected), "\(result.transcript)")
    }
}
