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
            within: .seconds(1_200)
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

    @Test(.timeLimit(.minutes(15)), arguments: TestDepth.pick(quick: [SIGINT], full: [SIGINT, SIGTERM]))
    func `a run that is asked to stop leaves no process and no folder`(signal: Int32) async throws {
        let folder = try makeTemporaryFolder("chaos-stop-", mode: 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let program = try builtProgram("chaos")
        let places = ["--binaries", program.deletingLastPathComponent().path, "--logs", folder + "/logs"]
        let chaos = try await ChildProcess.spawn(
            Command(
                executable: program.path,
                arguments: ["--kills", "10000", "--pairs", "2", "--victims", "media"] + places,
                environment: Command.inherited(["TMPDIR": folder]),
                output: folder + "/output"
            )
        )
        func output() -> String { (try? String(contentsOfFile: folder + "/output", encoding: .utf8)) ?? "" }
        func own() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("streaksnap-chaos-") }
        }
        // The one is stopped while it kills, the other while its system starts.
        let isPlaying = signal == SIGINT
        var processes: [pid_t] = []
        try await eventually("it has begun", within: .seconds(400)) {
            guard let data = try own().first.map({ "\(folder)/\($0)/data" }) else { return false }
            let files =
                ["postgres/cluster/postmaster.pid", "nats/nats-server.pid"] + (isPlaying ? ["media.pid", "streaks.pid"] : [])
            processes = files.compactMap { name in
                (try? String(contentsOfFile: "\(data)/\(name)", encoding: .utf8))?.split(separator: "\n").first.flatMap {
                    pid_t($0)
                }
            }
            return processes.count == files.count && (!isPlaying || output().contains("round 1: "))
        }
        chaos.signal(signal)
        #expect(await chaos.waitForExit() == 1)
        #expect(output().contains("stopped by a signal"), "\(output())")
        #expect(processes.filter { FileManager.default.fileExists(atPath: "/proc/\($0)") } == [])
        #expect(try own() == [])
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
