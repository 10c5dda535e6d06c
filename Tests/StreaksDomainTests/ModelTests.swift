import Foundation
import Processes
import StreaksReplay
import TestSupport
import Testing

/// The engine against the slow model in Python, which was written from the prose and not from the engine.
@Suite struct ModelTests {
    static let model = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("model/streak_model.py")

    private func python(_ arguments: [String]) async throws -> Data {
        let result = try await run("python3", [Self.model.path] + arguments, within: .seconds(600))
        try #require(result.status == 0, "\(result.text) \(result.errors)")
        return Data(result.output)
    }

    @Test(arguments: TestDepth.seeds(quick: 2, full: 6))
    func `Random cases go as the model says, from the start and from checkpoints`(seed: UInt64) async throws {
        let cases = TestDepth.pick(quick: 15, full: 40)
        let file = try await python(["fill", "\(101 + seed)", "\(cases)"])
        for isIncremental in [false, true] {
            let results = try await CaseReplay(isIncremental: isIncremental).play(file)
            #expect(results.count == cases)
            for result in results where !result.disagreements.isEmpty {
                Issue.record("\(result.name): \(result.disagreements.joined(separator: "; "))")
            }
        }
    }

    @Test func `The model agrees with the given cases`() async throws {
        let file = try #require(CaseTests.file)
        #expect(String(decoding: try await python(["play", file.path]), as: UTF8.self) == "39 passed, 0 failed\n")
    }
}
