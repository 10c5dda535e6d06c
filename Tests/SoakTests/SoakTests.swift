import Foundation
import Processes
import TestSupport
import Testing

/// Random lives through the real services, against the slow model: what `deploy/dev soak` does for a year of a thousand pairs.
@Suite(.serialized) struct SoakTests {
    private static let planner = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Soak/Plan/soak_plan.py").standardizedFileURL.path

    private func soak(_ arguments: [String]) async throws -> FinishedCommand {
        let program = try builtProgram("soak")
        return try await run(
            program.path,
            arguments + ["--binaries", program.deletingLastPathComponent().path],
            within: .seconds(1_800)
        )
    }

    /// A March to come: clocks change in most zones that do so.
    private let march = SoakTests.nextMarch

    /// The same for all tests, also when a year begins while they run.
    private static let nextMarch = "\(Calendar(identifier: .gregorian).component(.year, from: Date()) + 1)-03-01"

    @Test func `pairs, circles and habits for weeks: every count, break, date, token, freeze, XP, coin and badge is the model's`()
        async throws
    {
        // Through the changes of clocks in America and in Europe.
        let size = TestDepth.pick(
            quick: ["--pairs", "20", "--people", "24", "--circles", "4", "--habit-people", "20", "--days", "32"],
            full: ["--pairs", "100", "--people", "100", "--circles", "8", "--habit-people", "100", "--days", "60"]
        )
        let result = try await soak(size + ["--from", march])
        #expect(result.status == 0, "\(result.transcript)")
        #expect(result.text.hasSuffix(": 0 disagreements\n"), "\(result.transcript)")
    }

    @Test func `a disagreement is reported with its streak, seed and history, and fails the run`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "soak-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let nobody = ["--people", "0", "--circles", "0", "--habit-people", "0"]
        let options = ["--pairs", "2", "--days", "5", "--seed", "3", "--from", march] + nobody
        let planned = try await run("python3", [Self.planner, "write"] + options)
        try #require(planned.status == 0, "\(planned.errors)")
        // The model is made to claim that the first date that two completed counted for nothing.
        let completed = try #require(planned.text.firstMatch(of: /[ ,](?<run>[0-9]+\.[0-9]+):(?<date>[0-9-]{10}):1:1:1:0/))
        let claim = completed.output.0.replacing(":1:1:1:0", with: ":1:0:1:0")
        let plan = folder.appending(path: "plan")
        try planned.text.replacing(completed.output.0, with: claim, maxReplacements: 1)
            .write(to: plan, atomically: true, encoding: .utf8)

        let result = try await soak(options + ["--plan", plan.path, "--histories", folder.path])
        #expect(result.status == 1, "\(result.transcript)")
        #expect(result.text.contains("streak \(completed.output.run), seed 3"), "\(result.transcript)")
        #expect(result.text.hasSuffix(": 1 disagreements\n"), "\(result.transcript)")
        // The engine is right, and the model's own word, which was changed only in the plan, says so.
        let history = folder.appending(path: "seed-3-streak-\(completed.output.run).json").path
        let replayed = try await run(try builtProgram("streaks").path, ["replay", history])
        #expect(replayed.transcript == "1 passed, 0 failed\n")
    }

    @Test func `a disagreement about a habit names it and says what was done of it`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "soak-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let some = ["--people", "0", "--circles", "0", "--habit-people", "3"]
        let options = ["--pairs", "1", "--days", "9", "--seed", "3", "--from", march] + some
        let planned = try await run("python3", [Self.planner, "write"] + options)
        try #require(planned.status == 0, "\(planned.errors)")
        // The model is made to claim one more of the count that a completion came to.
        let done = try #require(
            planned.text.firstMatch(of: /(?<user>[0-9]+) habit_done (?<habit>[0-9]+),\S+ d:[0-9]+:(?<count>[0-9]+):/)
        )
        let count = try #require(Int(done.output.count))
        let claim = "\(done.output.0.dropLast(done.output.count.count + 1))\(count + 1):"
        let plan = folder.appending(path: "plan")
        try planned.text.replacing(done.output.0, with: claim, maxReplacements: 1)
            .write(to: plan, atomically: true, encoding: .utf8)

        let result = try await soak(options + ["--plan", plan.path, "--histories", folder.path])
        #expect(result.status == 1, "\(result.transcript)")
        let habit = "h\(done.output.user).\(done.output.habit)"
        #expect(result.text.contains("streak \(habit), seed 3"), "\(result.transcript)")
        #expect(result.text.hasSuffix(": 1 disagreements\n"), "\(result.transcript)")
        let history = try String(contentsOf: folder.appending(path: "seed-3-streak-\(habit).json"), encoding: .utf8)
        #expect(history.contains("\"do\": \"begin\"") && history.contains("\"do\": \"done\""), "\(history)")
    }

    @Test func `a plan is the same again, and lives need no other lives`() async throws {
        func plan(_ count: Int) async throws -> String {
            let sizes = ["--pairs", "\(count)", "--habit-people", "\(count)"]
            let result = try await run(
                "python3",
                [Self.planner, "write", "--days", "6", "--seed", "4", "--from", march] + sizes
            )
            try #require(result.status == 0, "\(result.errors)")
            return result.text
        }
        let (small, again, large) = (try await plan(2), try await plan(2), try await plan(5))
        #expect(small == again)
        #expect(Set(small.split(separator: "\n")).isSubset(of: large.split(separator: "\n")))
    }

    @Test func `a plan goes on after a late photo gives a token back`() async throws {
        let nobody = ["--people", "0", "--circles", "0", "--habit-people", "0"]
        // Fixed, for in only some lives a photo of before the break arrives after the recovery.
        let lives = ["--pairs", "20", "--days", "60", "--seed", "1", "--from", "2027-01-01"] + nobody
        let result = try await run("python3", [Self.planner, "write"] + lives)
        #expect(result.status == 0, "\(result.errors)")
        #expect(try result.text.contains(Regex(#"\nrecover [^\n]* ok:"#)), "nothing was recovered")
    }

    @Test(.timeLimit(.minutes(10))) func `a run that is asked to stop leaves no process and no folder`() async throws {
        let folder = try makeTemporaryFolder("soak-stop-", mode: 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let program = try builtProgram("soak")
        let lives = ["--pairs", "2", "--people", "0", "--circles", "0", "--habit-people", "0", "--days", "900", "--from", march]
        let places = ["--binaries", program.deletingLastPathComponent().path, "--histories", folder + "/histories"]
        let soak = try await ChildProcess.spawn(
            Command(
                executable: program.path,
                arguments: lives + places,
                environment: Command.inherited(["TMPDIR": folder]),
                output: folder + "/output"
            )
        )
        func output() -> String { (try? String(contentsOfFile: folder + "/output", encoding: .utf8)) ?? "" }
        func own() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("streaksnap-soak-") }
        }
        var processes: [pid_t] = []
        try await eventually("it plays", within: .seconds(240)) {
            guard let data = try own().first.map({ "\(folder)/\($0)/data" }) else { return false }
            let files = ["streaks-1.pid", "billing.pid", "postgres/cluster/postmaster.pid", "nats/nats-server.pid"]
            processes = files.compactMap { name in
                (try? String(contentsOfFile: "\(data)/\(name)", encoding: .utf8))?.split(separator: "\n").first.flatMap {
                    pid_t($0)
                }
            }
            return processes.count == files.count && output().contains("the services run")
        }
        soak.signal(SIGTERM)
        #expect(await soak.waitForExit() == 1)
        #expect(output().contains("stopped by a signal"), "\(output())")
        #expect(processes.filter { FileManager.default.fileExists(atPath: "/proc/\($0)") } == [])
        #expect(try own() == [])
    }

    @Test(
        arguments: [
            (["--pairs", "0"], "--pairs must be"), (["--people", "9", "--circles", "5"], "--circles must be"),
            (["--habit-people", "100001"], "--habit-people must be"), (["--from", "tomorrow"], "--from must be a date"),
        ]
    )
    func `options that make no sense are refused by name`(arguments: [String], text: String) async throws {
        let result = try await soak(arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains(text), "\(result.errors)")
    }
}
