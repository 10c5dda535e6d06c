import Foundation
import Processes
import TestSupport
import Testing

/// The example app's tests, as its developers run them: 21 tests, each with a private world. They keep every processor busy, so nothing else
/// runs beside them.
@Suite(.serialized) struct ExampleTimingTests {
    private var environment: [String: String] {
        get throws { ["STREAKSNAP_BIN": try builtProgram("streaksnap").deletingLastPathComponent().path] }
    }

    @Test func `the example app's 21 tests in Swift pass`() async throws {
        let runner = try builtProgram("streaksnapPackageTests.xctest").path
        let arguments = ["--testing-library", "swift-testing", "--filter", "ExampleAppTests"]
        let result = try await run(runner, arguments, environment: try environment, within: .seconds(180))
        #expect(result.status == 0 && result.transcript.contains("Test run with 21 tests"), "\(result.transcript.suffix(20_000))")
    }

    @Test func `the example app's 21 tests in Python pass`() async throws {
        let python = try await PythonPackages.pytest.value
        let tests = URL(filePath: PythonPackages.file("")).deletingLastPathComponent().appending(path: "Examples/python").path
        var environment = try environment
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        let arguments = ["-m", "pytest", "-n", "2", "--color=no", "--durations=20", "--durations-min=0", tests]
        let result = try await run(python, arguments, environment: environment, within: .seconds(180))
        #expect(result.status == 0 && result.text.contains(" 21 passed"), "\(result.transcript.suffix(20_000))")
    }
}
