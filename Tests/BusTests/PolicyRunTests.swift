import Kernel
import TestSupport
import Testing

@testable import Bus

/// Calls of changes with a key, played against a service whose sendings are lost, late, refused, worked on and made, in any order.
@Suite struct CallPolicyRunTests {
    @Test func `no refusal is the answer of a change that was made or may still be, and none is made twice`() {
        var answers: [CallRun.Answer: Int] = [:]
        for seed in TestDepth.seeds(quick: 5_000, full: 100_000) {
            var run = CallRun(seed)
            let answer = run.play()
            answers[answer, default: 0] += 1
            run.finish()
            #expect(run.commits <= 1, "seed \(seed)")
            switch answer {
            case .success: #expect(run.commits == 1, "seed \(seed)")
            case .declined, .unavailable: #expect(run.commits == 0, "seed \(seed): \(answer)")
            case .inProgress, .unknown: break
            }
        }
        // Each of them happens, or this says nothing.
        for answer in CallRun.Answer.allCases { #expect(answers[answer, default: 0] > 20, "\(answer): \(answers)") }
    }
}

/// One call: the policy, the way, and the service. Times are in milliseconds from the first sending.
struct CallRun {
    /// What the caller gets.
    enum Answer: CaseIterable { case success, declined, unavailable, inProgress, unknown }

    private enum Happening {
        case arrives
        case ends
        case replies(Reply)
    }

    private enum Reply { case success, declined, unavailable, inProgress, gone }

    private struct Planned {
        let time: Int64
        let sending: Int
        let what: Happening
    }

    private static let deadline: Int64 = 6_000

    private var numbers: Seeded
    private var policy: CallPolicy
    private var plan: [Planned] = []
    private var now: Int64 = 0
    private var sentAt: [Int64] = []
    /// When the connection breaks, for a moment.
    private let breaks: Int64?
    /// The sending that has the key.
    private var worker: Int?
    /// Instances that have ended.
    private var losses = 0
    private var lossesSeen = 0
    /// How often the change was made.
    private(set) var commits = 0

    init(_ seed: UInt64) {
        numbers = Seeded(seed)
        policy = CallPolicy(.withKey, usualTime: .milliseconds(Int64.random(in: 5...300, using: &numbers)))
        breaks = numbers.chance(30) ? Int64.random(in: 1...3_000, using: &numbers) : nil
    }

    /// As `OpenCall` does it.
    mutating func play() -> Answer {
        var (failure, refusal): (Answer, Answer?) = (.unknown, nil)
        var step = send()
        while true {
            let wait: Int64
            switch step {
            case .fail: return policy.isSettled ? refusal ?? failure : failure
            case .send(let pause): wait = pause.microseconds / 1_000
            case .wait(let interval): wait = max(1, interval.microseconds / 1_000)
            }
            guard let reply = reply(until: now + wait) else {
                guard now < Self.deadline else { return failure == .inProgress ? failure : .unknown }
                if case .send = step { step = send() } else { step = silent() }
                continue
            }
            let event: CallPolicy.Event
            switch reply {
            case .success: return .success
            case .declined: (event, refusal) = (.declined, .declined)
            case .unavailable: (event, failure) = (.refused(isLasting: numbers.chance(50)), .unavailable)
            case .inProgress: (event, failure) = (.inProgress, .inProgress)
            case .gone: event = .gone
            }
            step = policy.step(after: event, jitter: Int64.random(in: 0..<1_000, using: &numbers))
        }
    }

    /// Lets happen what may still happen when the caller has its answer.
    mutating func finish() { while reply(until: .max) != nil {} }

    private mutating func silent() -> CallPolicy.Step {
        let event = CallPolicy.Event.silence(
            isConnected: true,
            isLost: breaks.map { $0 <= now && $0 > sentAt[sentAt.count - 1] } ?? false,
            isInstanceLost: losses > lossesSeen,
            elapsed: .milliseconds(now)
        )
        return policy.step(after: event, jitter: 0)
    }

    private mutating func send() -> CallPolicy.Step {
        let sending = sentAt.count
        sentAt.append(now)
        lossesSeen = losses
        switch Int.random(in: 0..<100, using: &numbers) {
        case 0..<8: break
        case 8..<13: add(.replies(.gone), of: sending, after: 1...5)
        case 13..<23: add(.replies(.unavailable), of: sending, after: 1...20)
        // With an instance that is frozen for a while.
        case 23..<38: add(.arrives, of: sending, after: 100...9_000)
        default: add(.arrives, of: sending, after: 1...30)
        }
        return .wait(policy.sent())
    }

    private mutating func add(_ what: Happening, of sending: Int, after time: ClosedRange<Int64>) {
        plan.append(Planned(time: now + Int64.random(in: time, using: &numbers), sending: sending, what: what))
    }

    /// Lets happen what happens until then or the deadline. - Returns: the next reply, at whose time it is then; nil when there is none.
    private mutating func reply(until time: Int64) -> Reply? {
        while let next = plan.indices.min(by: { plan[$0].time < plan[$1].time }), plan[next].time <= time,
            plan[next].time <= Self.deadline || time == .max
        {
            let happening = plan.remove(at: next)
            now = max(now, happening.time)
            switch happening.what {
            case .arrives: arrive(happening.sending)
            case .ends: end(happening.sending)
            case .replies(let reply):
                // What is under way when the connection breaks may be lost.
                if let breaks, sentAt[happening.sending] < breaks, happening.time >= breaks, numbers.chance(70) { continue }
                return reply
            }
        }
        now = max(now, min(time, Self.deadline))
        return nil
    }

    private mutating func arrive(_ sending: Int) {
        // The caller does not wait any more.
        guard now < Self.deadline else { return }
        if commits > 0 { return add(.replies(.success), of: sending, after: 1...20) }
        // A limit that is asked before the key.
        if numbers.chance(25) { return add(.replies(.declined), of: sending, after: 1...20) }
        guard worker == nil else { return add(.replies(.inProgress), of: sending, after: 1...20) }
        worker = sending
        add(.ends, of: sending, after: 1...4_000)
    }

    private mutating func end(_ sending: Int) {
        worker = nil
        switch Int.random(in: 0..<100, using: &numbers) {
        case 0..<15: losses += 1
        case 15..<40: add(.replies(.declined), of: sending, after: 1...20)
        case 40..<50:
            commits += 1
            losses += 1
        default:
            commits += 1
            add(.replies(.success), of: sending, after: 1...20)
        }
    }
}
