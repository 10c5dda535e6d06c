import ArgumentParser
import Foundation
import Kernel
import Logging
import Processes
import Runtime

/// `deploy/dev soak`: a simulated time of many pairs and people through the real services, compared with the slow model (SD-5).
@main
struct Soak: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Plays random lives of pairs and people through streaks and billing and compares everything with the slow model."
    )
    private static let plans = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Plan/soak_plan.py").path

    @Option(help: "How many pairs of friends.") var pairs = 1_000
    @Option(help: "How many people with streaks of their own and circles.") var people = 1_000
    @Option(help: "How many circles they are in.") var circles = 50
    @Option(help: "How many people with habits.") var habitPeople = 300
    @Option(help: "How many days of their lives.") var days = 365
    @Option(help: "The same seed makes the same lives.") var seed = 1
    @Option(help: "The first date, YYYY-MM-DD, not in the past; next New Year's Day when absent.") var from: String?
    @Option(help: "Replicas of streaks.") var replicas = 1
    @Option(help: "Folder of the executables; that of this one when absent.") var binaries: String?
    @Option(help: "A plan to play instead of the one that these options make.") var plan: String?
    @Option(help: "Folder that takes the history of each disagreement, and what the services logged.")
    var histories = ".run/soak"

    func validate() throws {
        guard (1...100_000).contains(pairs) else { throw ValidationError("--pairs must be from 1 to 100000.") }
        guard (0...100_000).contains(people) else { throw ValidationError("--people must be from 0 to 100000.") }
        guard people == 0 || (1...people / 2).contains(circles) else {
            throw ValidationError("--circles must be from 1 to half of --people.")
        }
        guard (0...100_000).contains(habitPeople) else { throw ValidationError("--habit-people must be from 0 to 100000.") }
        guard (1...3_000).contains(days) else { throw ValidationError("--days must be from 1 to 3000.") }
        guard (1...8).contains(replicas) else { throw ValidationError("--replicas must be from 1 to 8.") }
        if let from, CalendarDate(from) == nil { throw ValidationError("--from must be a date, YYYY-MM-DD.") }
    }

    func run() async throws {
        let signals = await StopSignals()
        let simulation = Task { try await simulate() }
        // Its servers and services end with it: each is asked to, in order, and the folder is removed.
        let stopping = Task {
            await signals.first()
            simulation.cancel()
        }
        defer { stopping.cancel() }
        do { try await simulation.value } catch  where simulation.isCancelled {
            throw Failure(description: "stopped by a signal before its end")
        }
    }

    private func simulate() async throws {
        let started = ContinuousClock.now
        let first = from ?? "\(Zone.utc.date(at: SystemClock.now()).components.year + 1)-01-01"
        let folder = try makeTemporaryFolder("streaksnap-soak-", mode: 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        if plan == nil {
            let planned = try await ask("write", first, to: "\(folder)/plan")
            guard planned.status == 0 else { throw Failure(description: "there is no plan: \(planned.errors)") }
        }
        let plan = try Plan(Data(contentsOf: URL(filePath: plan ?? "\(folder)/plan"), options: .mappedIfSafe))
        let size = "\(pairs) pairs, \(people) people, \(habitPeople) with habits, \(days) days from \(first), seed \(seed)"
        Console.error("planned \(size): \(started.duration(to: .now))\n")

        var logger = Logger(label: "soak")
        logger.logLevel = .warning
        let system = try await SoakSystem.start(
            folder: folder,
            binaries: binaries ?? Self.ownFolder,
            settlers: replicas,
            logger: logger
        )
        Console.error("the services run: \(started.duration(to: .now))\n")
        let player = Player(system)
        var failure: (any Error)?
        do { try await play(plan, player) } catch { failure = error }
        await system.stop()
        let isGood = await player.disagreements.isEmpty && failure == nil
        if !isGood { try keepLogs(of: folder) }
        if let failure { throw failure }
        try await report(player, first, took: started.duration(to: .now))
    }

    private func keepLogs(of folder: String) throws {
        let kept = "\(histories)/logs"
        try FileManager.default.createDirectory(atPath: histories, withIntermediateDirectories: true)
        try? FileManager.default.removeItem(atPath: kept)
        try FileManager.default.copyItem(atPath: "\(folder)/data/logs", toPath: kept)
        Console.error("  what the services logged: \(kept)\n")
    }

    private func play(_ plan: Plan, _ player: Player) async throws {
        var plan = plan
        while let turn = try plan.next() {
            try Task.checkCancellation()
            try await player.play(turn)
            let turns = await player.tally.turns
            if turns % 240 == 0 {
                Console.error(
                    "  \(turn.at): \(await player.tally.snaps) snaps, \(await player.disagreements.count) disagreements\n"
                )
            }
        }
    }

    private func report(_ player: Player, _ first: String, took: Duration) async throws {
        let (tally, disagreements) = (await player.tally, await player.disagreements)
        for disagreement in disagreements.prefix(20) {
            Console.out("DISAGREEMENT at \(disagreement.at)\(disagreement.run.map { ", streak \($0)" } ?? ""), seed \(seed)\n")
            Console.out("  \(disagreement.text)\n")
            guard let run = disagreement.run else { continue }
            let file = "\(histories)/seed-\(seed)-streak-\(run).json"
            try FileManager.default.createDirectory(atPath: histories, withIntermediateDirectories: true)
            let history = try await ask("history", first, ["--run", run, "--until", "\(disagreement.at.seconds)"], to: file)
            // Nothing replays habits: there it is what was done and answered.
            let told = run.hasPrefix("h") ? file : "streaks replay \(file)"
            Console.out(history.status == 0 ? "  \(told)\n" : "  no history: \(history.errors)\n")
        }
        let rate = Double(tally.answers + tally.looks + tally.acts) / (Double(took.components.seconds) + 0.001)
        Console.out(
            """
            \(pairs) pairs, \(people) people in \(people > 0 ? circles : 0) circles, \(habitPeople) with habits, \(days) days from \(first), seed \(seed): \(tally.streaks) streaks, \(tally.snaps) snaps in \
            \(tally.answers) ledgers (\(tally.refusals) refused), \(tally.recoveries) recoveries, \(tally.zones) zones, \(tally.acts) acts of people, \(tally.looks) looks (\(tally.broken) at \
            broken ones) in \(took.components.seconds) s (\(Int(rate)) a second): \(disagreements.count) disagreements

            """
        )
        if !disagreements.isEmpty { throw ExitCode(1) }
    }

    /// Runs the planner; what it writes goes to `file`.
    private func ask(_ command: String, _ first: String, _ more: [String] = [], to file: String) async throws -> FinishedCommand {
        let result = try await Processes.run(
            "python3",
            [
                Self.plans, command, "--pairs", "\(pairs)", "--people", "\(people)", "--circles", "\(people > 0 ? circles : 0)",
                "--habit-people", "\(habitPeople)", "--days", "\(days)", "--seed", "\(seed)", "--from", first,
            ] + more,
            within: .seconds(3_600)
        )
        try Data(result.output).write(to: URL(filePath: file))
        return result
    }

    private static var ownFolder: String {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
    }

    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }
}
