import Foundation
import Processes
import Testing

/// A repository of this test alone: the real scripts of `deploy/`, in front of a build that only notes that it was asked for.
struct DeployFolder {
    let root: URL
    /// A folder elsewhere, from which the command is called.
    let caller: URL

    private static let scripts = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy")
        .standardizedFileURL

    /// - Parameter body: its folders are gone afterwards.
    static func with(_ body: (DeployFolder) async throws -> Void) async throws {
        let base = FileManager.default.temporaryDirectory.appending(path: "deploy-\(UUID().uuidString)")
        let folder = DeployFolder(root: base.appending(path: "repository"), caller: base.appending(path: "caller"))
        defer { try? FileManager.default.removeItem(at: base) }
        for path in [folder.root.appending(path: "deploy"), folder.caller, folder.binaries, folder.tools] {
            try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
        }
        for script in [
            "dev", "building.sh", "build_progress.py", "check.py", "turns.sh", "test_times.py", "demo", "bench",
            "bench_settlement.py",
            "bench_live.py", "bench_habits.py", "bench_hostile.py",
            "bench_notifications.py", "bench_check_ins.py", "bench_database.py", "bench_http.py", "bench_places.py",
            "bench_writes.py", "generate", "new_service.py",
        ] {
            let target = folder.root.appending(path: "deploy/\(script)")
            try FileManager.default.copyItem(at: scripts.appending(path: script), to: target)
        }
        try folder.write(
            "deploy/build",
            "#!/bin/sh\n[ \"$1\" = --show-bin-path ] || echo build >>built\necho \"$PWD/binaries\"\n"
        )
        // Formatting is no part of these tests.
        try folder.write("tools/swift", "#!/bin/sh\nexit 0\n")
        try await body(folder)
    }

    /// Where the build is said to be.
    var binaries: URL { root.appending(path: "binaries") }
    private var tools: URL { root.appending(path: "tools") }

    /// Whether a build was asked for.
    var wasBuilt: Bool { FileManager.default.fileExists(atPath: root.appending(path: "built").path) }

    /// What lies in the two folders besides the scripts.
    var leftovers: [String] {
        let places = [root, caller].flatMap { folder in
            (FileManager.default.subpaths(atPath: folder.path) ?? []).map { "\(folder.lastPathComponent)/\($0)" }
        }
        return places.filter { place in
            !["repository/deploy", "repository/binaries", "repository/tools"].contains { place.hasPrefix($0) }
        }.sorted()
    }

    /// Writes a program.
    func write(_ path: String, _ text: String) throws {
        let file = root.appending(path: path)
        try text.write(to: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    }

    /// Calls `deploy/dev` from the caller's folder.
    ///
    /// - Parameter session: whether it and what it starts get a session of their own, as in a terminal, where Ctrl-C reaches them all.
    func dev(_ arguments: [String], session: Bool = false) async throws -> FinishedCommand {
        let path = "\(tools.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")"
        return try await run(
            session ? "setsid" : "env",
            (session ? ["--wait"] : [])
                + ["bash", "-c", "cd \"$1\" && shift && exec \"$@\"", "sh", caller.path, root.appending(path: "deploy/dev").path]
                + arguments,
            // Otherwise `up` and `test` look for newer zone data in the network.
            environment: ["PATH": path, "STREAKSNAP_ZONEINFO_FOLDER": "/usr/share/zoneinfo"],
            within: .seconds(900)
        )
    }
}
