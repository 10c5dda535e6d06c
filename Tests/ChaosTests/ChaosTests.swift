import Foundation
import Processes
import TestSupport
import Testing

/// Services and broker are killed while friends post: what `deploy/dev chaos` does 200 times.
@Suite(.serialized) struct ChaosTests {
    private func chaos(_ arguments: [String]) async throws -> FinishedCommand {
        let program = try builtProgram("chaos")
        return try await run(
            program.path,
            arguments + ["--binaries", program.deletingLastPathComponent().path, "--logs", ".run/chaos-tests"],
            within: .seconds(400)
        )
    }

    @Test func `kills between upload and counted streak lose, double and leave behind nothing`() async throws {
        // Every victim at least once.
        let kills = TestDepth.pick(quick: 8, full: 60)
        let result = try await chaos(["--kills", "\(kills)", "--pairs", "8"])
        #expect(result.status == 0, "\(result.transcript)")
        #expect(result.text.contains("\(kills) kills in ") && result.text.hasSuffix(": 0 violations\n"), "\(result.transcript)")
    }

    @Test func `what is lost, doubled or left behind is reported and fails the run`() async throws {
        let result = try await chaos(["--kills", "1", "--pairs", "1", "--seed", "7", "--spoil"])
        #expect(result.status == 1, "\(result.transcript)")
        for part in [
            "seed 7: media.streak_snap lacks the acknowledged snap", "has 2 photos in the totals", "was notified of 2 snaps",
            "check-blobs: no row knows the blob snaps/", "the history shows", "kill 1: media at ", "the logs are in ",
        ] {
            #expect(result.text.contains(part), "\(part): \(result.transcript)")
        }
    }

    @Test(arguments: [
        (["--kills", "10001"], "--kills must be"), (["--pairs", "0"], "--pairs must be"),
        (["--victims", "media,all"], "--victims must be"), (["--victims", ""], "--victims must be"),
    ])
    func `options that make no sense are refused by name`(arguments: [String], text: String) async throws {
        let result = try await chaos(arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains(text), "\(result.errors)")
    }
}
