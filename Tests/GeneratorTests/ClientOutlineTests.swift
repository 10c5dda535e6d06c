import Foundation
import Processes
import Testing

/// The public API of the client library, as apps see it.
struct ClientOutlineTests {
    /// One line a symbol: kind, place, declaration. Made from the compiler's symbol graph.
    private static func outline() async throws -> String {
        let binaries = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let modules = ["Modules", "."].map { binaries.appendingPathComponent($0) }.first {
            FileManager.default.fileExists(atPath: $0.appendingPathComponent("StreakSnapClient.swiftmodule").path)
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("streaksnap-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        #if arch(arm64)
            let architecture = "aarch64"
        #else
            let architecture = "x86_64"
        #endif
        let result = try await run(
            "swift",
            [
                "symbolgraph-extract", "-module-name", "StreakSnapClient", "-I", try #require(modules).path, "-target",
                "\(architecture)-unknown-linux-gnu", "-output-dir", folder.path, "-minimum-access-level", "public",
                "-skip-synthesized-members",
            ]
        )
        try #require(result.status == 0, "\(result.transcript)")
        let data = try Data(contentsOf: folder.appendingPathComponent("StreakSnapClient.symbols.json"))
        let graph = try JSONDecoder().decode(Graph.self, from: data)
        let lines = graph.symbols.map { symbol in
            let declaration = symbol.declarationFragments.map(\.spelling).joined()
            return "\(symbol.pathComponents.joined(separator: ".")): "
                + declaration.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        return Set(lines).sorted().joined(separator: "\n") + "\n"
    }

    private struct Graph: Decodable {
        struct Fragment: Decodable { var spelling: String }
        struct Symbol: Decodable {
            var pathComponents: [String]
            var declarationFragments: [Fragment]
        }
        var symbols: [Symbol]
    }

    /// After a change that is meant, `STREAKSNAP_OUTLINE=write` makes this test write the file.
    @Test func `the public API of the client is the committed one`() async throws {
        let file = repository.appendingPathComponent("Shared/StreakSnapClient/API.txt")
        let now = try await Self.outline()
        if ProcessInfo.processInfo.environment["STREAKSNAP_OUTLINE"] == "write" {
            try now.write(to: file, atomically: true, encoding: .utf8)
        }
        let lines = (try String(contentsOf: file, encoding: .utf8)).split(separator: "\n")
        let (old, new) = (Set(lines), Set(now.split(separator: "\n")))
        let gone = old.subtracting(new).sorted().map { "- \($0)" }
        let added = new.subtracting(old).sorted().map { "+ \($0)" }
        #expect(
            gone.isEmpty && added.isEmpty,
            """
            The client's public API has changed. What is gone breaks apps: it needs a line in deploy/docs/CHANGELOG.md. When the change is
            meant, run this test with STREAKSNAP_OUTLINE=write and commit the file.
            \((gone + added).prefix(100).joined(separator: "\n"))
            """
        )
        #expect(new.contains { $0.hasPrefix("StreakSnap.events") }, "the outline has the client")
    }
}
