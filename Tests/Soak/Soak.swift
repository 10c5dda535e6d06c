import Foundation
import Kernel
import Logging
import Processes
import Runtime

/// `deploy/dev soak`: a simulated time of many pairs and people through the real services, compared with the slow model (SD-5).
struct Soak: Sendable {
    static let command = ProgramCommand(
        "soak",
        about: "plays random lives of pairs and people through streaks and billing and compares everything with the slow model",
        settings: Option.all
    ) { _, settings in
        try await Soak(settings).run()
    }
    private static let plans = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Plan/soak_plan.py").path

    private let pairs: Int
    private let people: Int
    private let circles: Int
    private let habitPeople: Int
    private let days: Int
    private let seed: Int
    private let from: String?
    private let replicas: Int
    private let binaries: String?
    private let plan: String?
    private let histories: String

    private enum Option {
        static let pairs = Setting(option: "pairs", default: 1_000, in: 1...100_000, help: "How many pairs of friends.")
        static let people = Setting(
            option: "people",
            default: 1_000,
            in: 0...100_000,
            help: "How many people with streaks of their own and circles."
        )
        static let circles = Setting(option: "circles", default: 50, help: "How many circles they are in.")
        static let habitPeople = Setting(
            option: "habit-people",
            default: 300,
            in: 0...100_000,
            help: "How many people with habits."
        )
        static let days = Setting(option: "days", default: 365, in: 1...3_000, help: "How many days of their lives.")
        static let seed = Setting(option: "seed", default: 1, help: "The same seed makes the same lives.")
        static let from = Setting<String>(
            option: "from",
            default: nil,
            help: "The first date, YYYY-MM-DD, not in the past; next New Year's Day when absent."
        )
        static let replicas = Setting(option: "replicas", default: 1, in: 1...8, help: "Replicas of streaks.")
        static let binaries = Setting<String>(
            option: "binaries",
            default: nil,
            help: "Folder of the executables; that of this one when absent."
        )
        static let plan = Setting<String>(
            option: "plan",
            default: nil,
            help: "A plan to play instead of the one that these options make."
        )
        static let histories = Setting(
            option: "histories",
            default: ".run/soak",
            help: "Folder that takes the history of each disagreement, and what the services logged."
        )
        static let all: [any AnySetting] = [
            pairs, people, circles, habitPeople, days, seed, from, replicas, binaries, plan, histories,
        ]
    }

    /// - Throws: `Settings.Invalid`.
    private init(_ options: Settings) throws {
        pairs = try options.get(Option.pairs)
        people = try options.get(Option.people)
        circles = try options.get(Option.circles)
        habitPeople = try options.get(Option.habitPeople)
        days = try options.get(Option.days)
        seed = try options.get(Option.seed)
        from = try options.find(Option.from)
        replicas = try options.get(Option.replicas)
        binaries = try options.find(Option.binaries)
        plan = try options.find(Option.plan)
        histories = try options.get(Option.histories)
        guard people == 0 || people > 1 && (1...people / 2).contains(circles) else {
            throw Option.circles.invalid("must be from 1 to half of --people.")
        }
        if let from, CalendarDate(from) == nil { throw Option.from.invalid("must be a date, YYYY-MM-DD.") }
    }

    private func run() async throws -> ProgramCommand.Outcome {
        let signals = try StopSignals()
        let simulation = Task { try await simulate() }
        // Its servers and services end with it: each is asked to, in order, and the folder is removed.
        let stopping = Task {
            await signals.first()
            simulation.cancel()
        }
        defer { stopping.cancel() }
        do { return try await simulation.value } catch  where simulation.isCancelled {
            throw ProgramCommand.Failure("stopped by a signal before its end")
        }
    }

    private func simulate() async throws -> ProgramCommand.Outcome {
        let started = ContinuousClock.now
        let first = from ?? "\(Zone.utc.date(at: SystemClock.now()).components.year + 1)-01-01"
        let folder = try makeTemporaryFolder("streaksnap-soak-", mode: 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        if plan == nil {
            let planned = try await ask("write", first, to: "\(folder)/plan")
            guard planned.status == 0 else { throw ProgramCommand.Failure("there is no plan: \(planned.errors)") }
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
        return try await report(player, first, took: started.duration(to: .now))
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

    private func report(_ player: Player, _ first: String, took: Duration) async throws -> ProgramCommand.Outcome {
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
        return .init("", exitCode: disagreements.isEmpty ? 0 : 1)
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
}
