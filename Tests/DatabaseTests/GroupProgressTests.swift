import TestSupport
import Testing

@testable import Database

/// Who may end a group of transactions that run as one, as a trace of events.
struct GroupProgressTests {
    /// A group, and what was sent for it.
    private final class Trace {
        private(set) var group = GroupProgress()
        private(set) var sent: [String] = []
        /// Decided, and not sent yet.
        private(set) var waiting: [String] = []

        func begin(isLast: Bool) {
            group.begin(isLast: isLast)
            waiting.append(isLast ? "commit" : "statement")
        }

        func handOver() {
            sent.append(waiting.removeFirst())
            if group.handedOver() { sent.append("rollback") }
        }

        func answer() { group.answered() }

        @discardableResult
        func end(_ cause: GroupProgress.End, needsRollback: Bool = true) -> Bool {
            guard let ending = group.end(cause, needsRollback: needsRollback) else { return false }
            if ending.stopsStatements { sent.append("stop") }
            if ending.rollsBack { sent.append("rollback") }
            return true
        }
    }

    @Test(arguments: [[], [false], [false, false], [true], [false, true]])
    func `a member may withdraw until the commit is decided, and not after it`(rounds: [Bool]) {
        let trace = Trace()
        for isLast in rounds {
            trace.begin(isLast: isLast)
            trace.handOver()
            trace.answer()
        }
        let isDecided = rounds.last == true
        #expect(trace.group.takesStatements == !isDecided)
        #expect(trace.end(.withdrawal) == !isDecided)
        #expect(!trace.group.takesStatements)
        if isDecided { #expect(trace.end(.commit, needsRollback: false)) }
        for cause in GroupProgress.End.allCases { #expect(!trace.end(cause)) }
        #expect(trace.sent.last == (isDecided ? "commit" : "rollback"))
    }

    @Test func `what is in flight is stopped, and the rollback follows what another thread is about to send`() {
        let flying = Trace()
        flying.begin(isLast: false)
        flying.handOver()
        flying.end(.withdrawal)
        #expect(flying.sent == ["statement", "stop", "rollback"])
        let waiting = Trace()
        waiting.begin(isLast: false)
        waiting.end(.withdrawal)
        waiting.handOver()
        #expect(waiting.sent == ["stop", "statement", "rollback"])
        // The answer to the first comes before its sender goes on: two threads are sending.
        let both = Trace()
        both.begin(isLast: false)
        both.answer()
        both.begin(isLast: false)
        both.handOver()
        both.end(.withdrawal)
        both.handOver()
        #expect(both.sent == ["statement", "stop", "statement", "rollback"])
    }

    @Test(arguments: 1...20)
    func `whatever comes when, nothing follows a rollback, and a decided commit is sent and never rolled back by a member`(
        seed: UInt64
    ) {
        var random = Seeded(seed)
        for _ in 0..<2_000 {
            let trace = Trace()
            var (isDissolved, isDecided, isInFlight) = (false, false, false)
            for _ in 0..<12 {
                switch Int.random(in: 0..<5, using: &random) {
                case 0 where trace.group.isOpen:
                    let isLast = Int.random(in: 0..<3, using: &random) == 0
                    trace.begin(isLast: isLast)
                    (isDecided, isInFlight) = (isLast, !isLast)
                case 1 where !trace.waiting.isEmpty: trace.handOver()
                case 2 where isInFlight:
                    trace.answer()
                    isInFlight = false
                case 3: isDissolved = trace.end(.withdrawal) || isDissolved
                case 4 where isInFlight: isDissolved = trace.end(.failure) || isDissolved
                default: break
                }
            }
            while !trace.waiting.isEmpty { trace.handOver() }
            let sent = trace.sent
            #expect(sent.contains("commit") == isDecided && !(isDecided && isDissolved), "\(sent)")
            #expect(
                sent.count { $0 == "rollback" } == (isDissolved ? 1 : 0) && (!isDissolved || sent.last == "rollback"),
                "\(sent)"
            )
        }
    }
}
