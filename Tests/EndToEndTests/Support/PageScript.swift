import Foundation
import Processes
import TestSupport
import Testing

/// Scripts of `Tests/Support/Pages`, which use the pages for browsers in headless Chromium.
enum PageScript {
    /// Runs a script, and gives what it prints.
    static func play(_ script: String, _ arguments: [String], within limit: Duration) async throws -> String {
        try #require(Command.find("chromium") != nil, "Chromium is missing; deploy/dev setup installs it")
        let artefacts = URL(filePath: ".run/artefacts").standardizedFileURL
        try FileManager.default.createDirectory(at: artefacts, withIntermediateDirectories: true)
        let python = try await PythonPackages.browser.value
        let result = try await run(
            python,
            [PythonPackages.file("Pages/\(script)")] + arguments,
            environment: ["ARTEFACTS": artefacts.path],
            within: limit
        )
        #expect(result.status == 0, "\(result.transcript.suffix(8_000))")
        return result.text
    }
}
