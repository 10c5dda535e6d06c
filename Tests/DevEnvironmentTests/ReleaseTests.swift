import Foundation
import Processes
import Testing

/// `deploy/release`: whether a tag is what the sources say, and what is published beside packages and images.
struct ReleaseTests {
    private static let repository = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        .standardizedFileURL
    private static let files = [
        "deploy/release", "deploy/compose.yaml", "deploy/try/compose.yaml", "deploy/kubernetes/services.yaml",
        "deploy/kubernetes/streams.yaml", "Shared/Runtime/BuildInfo.swift",
    ]
    private static let changelog = """
        # Changelog

        ## 9.8.7 (2031-05-04)
        - Streaks of [cats](../README.md#upgrade), as [cats](https://example.com) wanted.

        ## 9.8.6 (2031-04-03)
        - Older.

        """

    /// The files as they are, but of version 9.8.7 and with a changelog of that.
    private func prepare(_ folder: URL) throws {
        let source = try String(contentsOf: Self.repository.appending(path: "Shared/Runtime/BuildInfo.swift"), encoding: .utf8)
        let version = String(try #require(source.firstMatch(of: /version = "([^"]+)"/)?.1))
        for path in Self.files + ["deploy/docs/CHANGELOG.md"] {
            let target = folder.appending(path: path)
            try FileManager.default.createDirectory(at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            let text = try String(contentsOf: Self.repository.appending(path: path), encoding: .utf8)
            let changed = path.hasSuffix("CHANGELOG.md") ? Self.changelog : text.replacing(version, with: "9.8.7")
            try changed.write(to: target, atomically: true, encoding: .utf8)
        }
        let mode = [FileAttributeKey.posixPermissions: 0o755]
        try FileManager.default.setAttributes(mode, ofItemAtPath: folder.appending(path: "deploy/release").path)
    }

    private func change(_ path: String, in folder: URL, _ old: String, to new: String) throws {
        let file = folder.appending(path: path)
        let text = try String(contentsOf: file, encoding: .utf8)
        try #require(text.contains(old), "\(path) has no \(old)")
        try text.replacing(old, with: new).write(to: file, atomically: true, encoding: .utf8)
    }

    private func release(_ tag: String, in folder: URL, images: String = "ghcr.io/cats/streaks") async throws -> FinishedCommand {
        let output = folder.appending(path: "out").path
        return try await run(folder.appending(path: "deploy/release").path, [tag, "--images", images, "--output", output])
    }

    private func withSources(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "release-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try prepare(folder)
        try await body(folder)
    }

    @Test func `a tag of the sources' version makes notes of its changes and one file to try it`() async throws {
        try await withSources { folder in
            let result = try await release("v9.8.7", in: folder)
            try #require(result.status == 0 && result.text == "9.8.7\n", "\(result.transcript)")
            let notes = try String(contentsOf: folder.appending(path: "out/notes.md"), encoding: .utf8)
            // A link to a file of the repository leads nowhere on the page of a release.
            #expect(notes == "- Streaks of cats, as [cats](https://example.com) wanted.\n")
            let compose = try String(contentsOf: folder.appending(path: "out/compose.yaml"), encoding: .utf8)
            #expect(compose.contains("    image: ghcr.io/cats/streaks/streaksnap:9.8.7\n"), "\(compose)")
            #expect(!compose.contains("build") && !compose.contains("STREAKSNAP_IMAGES"), "\(compose)")
            #expect(compose.contains("STREAKSNAP_DEV_CLOCK: \"true\"") && compose.contains("# STREAKSNAP_PORT "), "\(compose)")
        }
    }

    @Test(arguments: [
        ("deploy/docs/CHANGELOG.md", "9.8.7 (2031-05-04)", "9.8.7 (unreleased)", "“(unreleased)” of 9.8.7, not its date"),
        ("deploy/docs/CHANGELOG.md", "9.8.7 (2031-05-04)", "9.8.5 (2031-05-04)", "has nothing of 9.8.7"),
        ("Shared/Runtime/BuildInfo.swift", "9.8.7", "9.9.0", "BuildInfo.swift says 9.9.0, not 9.8.7"),
        (
            "deploy/kubernetes/services.yaml", "/social:9.8.7", "/social:9.8.6",
            "services.yaml names images of 9.8.6, 9.8.7, not 9.8.7"
        ),
        ("deploy/try/compose.yaml", "VERSION:-9.8.7", "VERSION:-9.8.6", "try/compose.yaml names images of 9.8.6, not 9.8.7"),
    ])
    func `what is of another version is named, and nothing is written`(
        path: String,
        old: String,
        new: String,
        culprit: String
    ) async throws {
        try await withSources { folder in
            try change(path, in: folder, old, to: new)
            let result = try await release("v9.8.7", in: folder)
            #expect(result.status == 1 && result.errors.contains(culprit), "\(result.transcript)")
            #expect(result.errors.split(separator: "\n").count == 1, "\(result.transcript)")
            #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "out").path))
        }
    }

    @Test(arguments: ["9.8.7", "v9.8", "v9.8.7-rc1", "latest"]) func `another name is no tag of a release`(tag: String)
        async throws
    {
        try await withSources { folder in
            let result = try await release(tag, in: folder)
            #expect(result.status == 1 && result.errors.contains("“\(tag)” is no tag of a release"), "\(result.transcript)")
        }
    }

    @Test func `a name that no image can have is refused`() async throws {
        try await withSources { folder in
            let result = try await release("v9.8.7", in: folder, images: "ghcr.io/Cats/Streaks")
            #expect(result.status == 1 && result.errors.contains("“ghcr.io/Cats/Streaks” is no name"), "\(result.transcript)")
        }
    }
}
