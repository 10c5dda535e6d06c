import Foundation
import StreaksReplay
import Testing

@Suite struct ReplayTests {
    private func lines(_ steps: String, extra: String = "") async throws -> [String] {
        let text = """
            {"cases": [{"name": "n", "rule": "r", "kind": "mutual", "participants": {"a": "UTC", "b": "UTC"}, \(extra)
              "start": "2026-05-01T08:00:00Z", "steps": [\(steps)]}]}
            """
        return try #require(await CaseReplay().play(Data(text.utf8)).first).disagreements
    }

    @Test(arguments: [
        (#"{"at": "2026-05-01T09:00:00Z", "expect": {"mood": 1}}"#, "unknown key \"mood\""),
        (#"{"at": "2026-05-01T09:00:00Z", "contribute": "a", "colour": 1}"#, "unknown key \"colour\""),
        (#"{"at": "2026-05-01T09:00:00Z", "contribute": "z"}"#, "takes no part"),
        (#"{"at": "2026-05-01T09:00:00Z", "captured_at": "2026-05-01T09:00:00Z", "unfriend": true}"#, "captured_at"),
        (#"{"at": "2026-05-01T09:00:00Z"}"#, "nothing to do"),
        (#"{"at": "2026-05-01T07:00:00Z", "contribute": "a"}"#, "time order"),
        (#"{"at": "2026-05-01T09:00:00Z", "zone": {"a": "Mars/Olympus"}}"#, "is no zone"),
        (#"{"at": "2026-05-01T09:00:00Z", "outage": {"from": "2026-05-01T09:00:00Z", "until": "x"}}"#, "to is missing"),
    ]) func `What is not understood fails its case`(step: String, problem: String) async throws {
        let lines = try await lines(step)
        #expect(lines.count == 1 && lines[0].contains(problem), "\(lines)")
    }

    @Test(arguments: [
        #"{"at": "2026-05-01T09:00:00Z", "contribute": "a", "error": "ALREADY_POSTED"}"#,
        #"{"at": "2026-05-01T09:00:00Z", "contribute": "a", "credited_to": "2026-05-02"}"#,
        #"{"at": "2026-05-01T09:00:00Z", "recover": "a"}"#,
        #"{"at": "2026-05-01T09:00:00Z", "expect": {"count": 1}}"#,
        #"{"at": "2026-05-01T09:00:00Z", "expect": {"count": "0"}}"#,
        #"{"at": "2026-05-01T09:00:00Z", "expect": {"at_risk": 0}}"#,
        #"{"at": "2026-05-01T09:00:00Z", "expect": {"deadline_at": null}}"#,
        #"{"at": "2026-05-01T09:00:00Z", "expect": {"days": {"2026-05-01": "none"}}}"#,
    ]) func `Each kind of disagreement is reported`(step: String) async throws {
        #expect(try await lines(step).count == 1)
    }

    @Test func `Output and exit codes`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("replay-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("cases.json")
        let good =
            #"{"name": "good", "kind": "mutual", "participants": {"a": "UTC"}, "start": "2026-05-01T08:00:00Z", "steps": []}"#
        try Data(#"{"cases": [\#(good)]}"#.utf8).write(to: file)
        #expect(await CaseReplay().run(file: file.path) == ("1 passed, 0 failed\n", 0))
        let bad = good.replacingOccurrences(of: "good", with: "bad").replacingOccurrences(of: "mutual", with: "odd")
        try Data(#"{"cases": [\#(good), \#(bad)]}"#.utf8).write(to: file)
        #expect(await CaseReplay().run(file: file.path) == ("FAILED bad\n  unknown kind \"odd\"\n1 passed, 1 failed\n", 1))
        try Data("{".utf8).write(to: file)
        #expect(await CaseReplay().run(file: file.path).exitCode == 2)
        #expect(await CaseReplay().run(file: folder.path + "/none").exitCode == 2)
    }
}
