import Foundation
import Kernel
import Logging
import Processes
import Runtime

/// `deploy/dev chaos`: services and broker are killed at every step between upload and counted streak, and nothing is lost (PH-3, D6).
///
/// A round is one date of the development clock: every user posts once while victims are killed, then everything is compared with what
/// users were answered.
struct Chaos: Sendable {
    static let command = ProgramCommand(
        "chaos",
        about: "kills services and broker while pairs of friends post, and says what was lost, counted twice or left behind",
        settings: Option.all
    ) { _, settings in
        try await Chaos(settings).run()
    }

    private let kills: Int
    private let seed: Int
    private let pairs: Int
    private let chosen: [Victim]
    private let binaries: String?
    private let logs: String
    private let spoil: Bool

    private enum Option {
        static let kills = Setting(option: "kills", default: 200, in: 0...10_000, help: "How often something is killed.")
        static let seed = Setting(
            option: "seed",
            default: 1,
            help: "The same seed aims the same kills and posts the same photos."
        )
        static let pairs = Setting(option: "pairs", default: 24, in: 1...500, help: "How many pairs of friends.")
        static let victims = Setting(
            option: "victims",
            default: "media,streaks,gateway,nats",
            help: "Who is killed, in turn: media, streaks, gateway, nats, postgres."
        )
        static let binaries = Setting<String>(
            option: "binaries",
            default: nil,
            help: "Folder of the executables; that of this one when absent."
        )
        static let logs = Setting(
            option: "logs",
            default: ".run/chaos",
            help: "Folder that takes the logs when something is wrong."
        )
        static let spoil = Setting(
            option: "spoil",
            default: false,
            help: "Loses, doubles and leaves something behind at the end: the run must notice."
        )
        static let all: [any AnySetting] = [kills, seed, pairs, victims, binaries, logs, spoil]
    }

    /// - Throws: `Settings.Invalid`.
    private init(_ options: Settings) throws {
        kills = try options.get(Option.kills)
        seed = try options.get(Option.seed)
        pairs = try options.get(Option.pairs)
        let victims = try options.get(Option.victims).split(separator: ",", omittingEmptySubsequences: false)
        chosen = victims.compactMap { Victim(rawValue: String($0)) }
        guard chosen.count == victims.count else {
            throw Option.victims.invalid("must be some of \(Victim.allCases.map(\.rawValue).joined(separator: ",")).")
        }
        binaries = try options.find(Option.binaries)
        logs = try options.get(Option.logs)
        spoil = try options.get(Option.spoil)
    }

    private func run() async throws -> ProgramCommand.Outcome {
        let signals = try StopSignals()
        let hunt = Task { try await killAndCompare() }
        // The system that it has started ends with it, and the folder is removed.
        let stopping = Task {
            await signals.first()
            hunt.cancel()
        }
        defer { stopping.cancel() }
        do { return try await hunt.value } catch  where hunt.isCancelled {
            throw ChaosSystem.Failure(description: "stopped by a signal before its end")
        }
    }

    private func killAndCompare() async throws -> ProgramCommand.Outcome {
        let started = ContinuousClock.now
        let folder = try makeTemporaryFolder("streaksnap-chaos-", mode: 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var logger = Logger(label: "chaos")
        logger.logLevel = .critical
        let system = try await ChaosSystem.start(folder: folder, binaries: binaries ?? Self.ownFolder, logger: logger)
        let killer = Killer(system, victims: chosen, count: kills, seed: seed, started: started)
        let crowd = Crowd(system.api, pairs: pairs, seed: seed)
        let outcome: Outcome
        do { outcome = try await play(system, killer, crowd) } catch {
            await system.stop()
            throw error
        }
        await system.stop()
        let report = Report(
            seed: seed,
            victims: chosen,
            people: pairs * 2,
            kills: await killer.kills,
            tally: await crowd.tally,
            outcome: outcome,
            took: started.duration(to: .now)
        )
        Console.out(report.text)
        guard outcome.violations.isEmpty else {
            return .init("the logs are in \(try keepLogs(of: system))\n", exitCode: 1)
        }
        return .init("")
    }

    /// What came of it.
    struct Outcome: Sendable {
        var rounds = 0
        var violations: [String] = []
        var leftovers = Collection.Leftovers()
    }

    private func play(_ system: ChaosSystem, _ killer: Killer, _ crowd: Crowd) async throws -> Outcome {
        var outcome = Outcome()
        let noon = try await Self.nextNoon(system)
        try await system.go(to: noon)
        try await crowd.gather()
        while outcome.violations.isEmpty, !(await killer.isDone) || outcome.rounds == 0 {
            outcome.rounds += 1
            let round = outcome.rounds
            if round > 1 {
                try await system.go(to: noon + .days(Int64(round - 1)))
                try await crowd.signIn()
            }
            try await Self.play(round: round, killer, crowd)
            // What was broken off is no violation.
            try Task.checkCancellation()
            outcome.violations += await killer.violations
            outcome.violations += await crowd.violations
            if outcome.violations.isEmpty {
                outcome.violations += try await verifier(system, crowd, noon, rounds: round).violations(within: .seconds(90))
            }
            Console.error("  round \(round): \(await killer.kills.count) kills, \(await crowd.tally.acknowledged) snaps\n")
        }
        if spoil { try await Spoiler(system: system).spoil() }
        guard outcome.violations.isEmpty else { return outcome }
        let timeout = Duration.seconds(spoil ? 3 : 60)
        let verifier = await verifier(system, crowd, noon, rounds: outcome.rounds)
        outcome.violations += try await verifier.finalViolations(within: timeout)
        outcome.violations += try await verifier.violations(within: timeout)
        let (leftovers, left) = try await Collection(system: system).collect(
            snaps: await crowd.tally.acknowledged,
            within: timeout
        )
        outcome.leftovers = leftovers
        outcome.violations += left
        // Each twice over is often enough for each to be met.
        if kills >= chosen.count * Step.allCases.count * 2 {
            let met = Set(await killer.kills.map { "\($0.victim) at “\($0.step)”" })
            let all = chosen.flatMap { victim in Step.allCases.map { "\(victim) at “\($0)”" } }
            outcome.violations += all.filter { !met.contains($0) }.map { "never killed: \($0)" }
        }
        return outcome
    }

    /// Every user posts once, and victims are killed meanwhile.
    private static func play(round: Int, _ killer: Killer, _ crowd: Crowd) async throws {
        await crowd.begin()
        _ = try await concurrently {
            try await killer.hunt(round: round) { await crowd.isBusy }
        } _: {
            await crowd.post(round: round) { await killer.isRecovering }
        }
    }

    private func verifier(_ system: ChaosSystem, _ crowd: Crowd, _ noon: Instant, rounds: Int) async -> Verifier {
        Verifier(
            system: system,
            people: await crowd.people,
            dates: (0..<rounds).map { "\(Zone.utc.date(at: noon + .days(Int64($0))))" },
            acknowledged: await crowd.acknowledged
        )
    }

    private static func nextNoon(_ system: ChaosSystem) async throws -> Instant {
        let now = try await system.now()
        let noon = Instant(seconds: now.seconds / 86_400 * 86_400 + 43_200)
        return noon > now ? noon : noon + .days(1)
    }

    private func keepLogs(of system: ChaosSystem) throws -> String {
        let kept = "\(logs)/seed-\(seed)"
        try? FileManager.default.removeItem(atPath: kept)
        try FileManager.default.createDirectory(atPath: logs, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: system.data + "/logs", toPath: kept)
        try FileManager.default.copyItem(atPath: system.folder + "/up.log", toPath: kept + "/up.log")
        return kept
    }

    private static var ownFolder: String {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
    }
}
