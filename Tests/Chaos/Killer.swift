import Foundation

/// One `kill -9`.
struct Kill: Sendable, CustomStringConvertible {
    let number: Int
    let victim: Victim
    let step: Step
    let round: Int
    let at: Duration
    /// Until every service answered again; nil when the next kill did not wait for that.
    var recovery: Duration?

    var description: String {
        let after = recovery.map { ", ready after \($0.rounded)" } ?? ""
        return "kill \(number): \(victim.rawValue) at “\(step.rawValue)”, round \(round), \(at.rounded) after the start\(after)"
    }
}

extension Duration {
    /// In seconds, for people.
    var rounded: String { formatted(.units(allowed: [.seconds], width: .narrow, fractionalPart: .show(length: 1))) }
}

/// Kills the victims in turn, each time at another step of an upload.
actor Killer {
    /// A step that no upload was seen at in this many rounds is skipped.
    private static let mostMissed = 4
    private let system: ChaosSystem
    private let started: ContinuousClock.Instant
    private let aims: [(victim: Victim, step: Step)]
    private var dice: Dice
    private var missed = 0
    private(set) var kills: [Kill] = []
    private(set) var violations: [String] = []
    /// Whether a victim is away, or was a moment ago.
    private(set) var isRecovering = false

    /// - Parameter count: how often it kills in all.
    init(_ system: ChaosSystem, victims: [Victim], count: Int, seed: Int, started: ContinuousClock.Instant) {
        var dice = Dice(seed, 1)
        var orders: [Victim: [Step]] = [:]
        aims = (0..<count).map { number in
            let victim = victims[number % victims.count]
            if orders[victim, default: []].isEmpty { orders[victim] = Step.allCases.shuffled(using: &dice) }
            return (victim, orders[victim, default: []].popLast() ?? .anywhere)
        }
        (self.system, self.started, self.dice) = (system, started, dice)
    }

    var isDone: Bool { kills.count >= aims.count }

    /// Kills while there is load.
    func hunt(round: Int, while isBusy: @Sendable () async -> Bool) async throws {
        while !isDone, await isBusy() {
            let aim = aims[kills.count]
            let isGivenUp = missed >= Self.mostMissed
            let step = isGivenUp ? .anywhere : aim.step
            if step == .anywhere {
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...600, using: &dice)))
            } else {
                guard try await Watch(step, of: system).wait(while: isBusy) else {
                    missed += 1
                    return
                }
            }
            missed = 0
            try await kill(aim.victim, at: step, round)
        }
    }

    private func kill(_ victim: Victim, at step: Step, _ round: Int) async throws {
        guard let pid = try await process(of: victim, after: nil) else {
            return complain("\(victim.rawValue) did not run for 60 s before kill \(kills.count + 1)", victim, step, round)
        }
        let moment = ContinuousClock.now
        isRecovering = true
        defer { isRecovering = false }
        _ = Glibc.kill(pid, SIGKILL)
        kills.append(
            Kill(number: kills.count + 1, victim: victim, step: step, round: round, at: started.duration(to: moment))
        )
        guard try await process(of: victim, after: pid) != nil else {
            return complain("\(victim.rawValue) was not started again within 60 s", victim, step, round)
        }
        // Sometimes the next one is killed while this one is still coming up.
        if Int.random(in: 0..<5, using: &dice) == 0 { return }
        while !(await system.isReady()) {
            guard moment.duration(to: .now) < .seconds(60) else {
                return complain("not every service answered within 60 s after the kill", victim, step, round)
            }
            try await Task.sleep(for: .milliseconds(25))
        }
        kills[kills.count - 1].recovery = moment.duration(to: .now)
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...200, using: &dice)))
    }

    /// The victim's process once it is another one than `last`; nil when there is none for 60 s.
    private func process(of victim: Victim, after last: pid_t?) async throws -> pid_t? {
        let deadline = ContinuousClock.now.advanced(by: .seconds(60))
        while ContinuousClock.now < deadline {
            if let pid = system.process(of: victim), pid != last { return pid }
            try await Task.sleep(for: .milliseconds(10))
        }
        return nil
    }

    private func complain(_ what: String, _ victim: Victim, _ step: Step, _ round: Int) {
        violations.append("round \(round), \(victim.rawValue) at “\(step.rawValue)”: \(what)")
    }
}
