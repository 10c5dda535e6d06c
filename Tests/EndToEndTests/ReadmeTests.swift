import Foundation
import Processes
import Testing

/// The session that README.md asks newcomers to copy.
struct ReadmeTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL

    @Test func `the session with curl works, and works again`() async throws {
        let home = try await Installation.shared.value
        let text = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
        let section = try #require(text.split(separator: "## Using it with curl").last)
        let session = try #require(section.split(separator: "```sh\n").dropFirst().first?.split(separator: "```\n").first)
        #expect(session.contains("API=http://127.0.0.1:8080\n"))
        let script = session.replacing("API=http://127.0.0.1:8080\n", with: "API=http://127.0.0.1:\(home.http.port)\n")
        let folder = FileManager.default.temporaryDirectory.appending(path: "readme-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder.appending(path: "deploy"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // The command without its build.
        let command = folder.appending(path: "deploy/dev")
        let program = Installation.binaries.appending(path: "streaksnap").path
        try "#!/bin/sh\nexec '\(program)' \"$@\"\n".write(to: command, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: command.path)
        for turn in 1...2 {
            let result = try await run("bash", ["-c", "cd \"$1\"; \(script)", "bash", folder.path])
            #expect(result.status == 0 && !result.transcript.contains("error"), "turn \(turn): \(result.transcript)")
            #expect(result.text.contains("\"current_count\": 1"), "turn \(turn): \(result.transcript)")
            let seen = folder.appending(path: "seen.jpg")
            #expect(try Data(contentsOf: seen).starts(with: [0xFF, 0xD8]), "turn \(turn)")
            try FileManager.default.removeItem(at: seen)
        }
    }

    @Test func `the session says what went wrong`() async throws {
        let text = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
        let function = try #require(text.firstMatch(of: /\ndata\(\) \{.*\}\n/)?.output)
        let refusal = "{\"success\":false,\"error\":{\"code\":\"EMAIL_TAKEN\",\"message\":\"The e-mail is taken.\"}}"
        let result = try await run("bash", ["-c", "\(function)\necho '\(refusal)' | data .access_token"])
        #expect(result.text.isEmpty && result.errors.contains("EMAIL_TAKEN") && result.status != 0, "\(result.transcript)")
    }
}
