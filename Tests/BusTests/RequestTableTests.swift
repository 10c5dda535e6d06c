import Kernel
import Testing

@testable import Bus

/// Reads like a protocol: each line an event and what must be done.
@Suite struct RequestTableTests {
    typealias Table = RequestTable<String, String>

    private func at(_ milliseconds: UInt64) -> Tick { Tick(nanoseconds: milliseconds * 1_000_000) }

    @Test func aReplyResumesItsWaiterOnce() throws {
        var table = Table()
        let first = try table.open(deadline: at(100)).token
        let second = try table.open(deadline: at(100)).token
        #expect(first != second)
        #expect(table.wait(first, "A").text == "nothing")
        #expect(table.wait(second, "B").text == "nothing")
        #expect(table.settle(second, .reply("two")).text == "B: reply two")
        #expect(table.settle(second, .reply("again")).text == "nothing")
        #expect(table.settle(first, .reply("one")).text == "A: reply one")
        #expect(table.count == 0)
    }

    @Test func aReplyMayOvertakeTheWaiter() throws {
        var table = Table()
        let token = try table.open(deadline: at(100)).token
        #expect(table.settle(token, .reply("early")).text == "nothing")
        #expect(table.settle(token, .cancelled).text == "nothing", "the first event decides")
        #expect(table.wait(token, "A").text == "A: reply early")
        #expect(table.count == 0)
    }

    @Test func cancellationMayComeBeforeTheWaiter() throws {
        var table = Table()
        let token = try table.open(deadline: at(100)).token
        #expect(table.settle(token, .cancelled).text == "nothing")
        #expect(table.wait(token, "A").text == "A: cancelled")
        #expect(table.settle(token, .reply("late")).text == "nothing")
    }

    @Test func onlyAnEarlierDeadlineMovesTheAlarm() throws {
        var table = Table()
        #expect(try table.open(deadline: at(100)).wakeAt == at(100))
        #expect(try table.open(deadline: at(200)).wakeAt == nil)
        #expect(try table.open(deadline: at(100)).wakeAt == nil)
        #expect(try table.open(deadline: at(50)).wakeAt == at(50))
    }

    @Test func deadlinesExpireInTheirOrder() throws {
        var table = Table()
        let early = try table.open(deadline: at(50)).token
        let late = try table.open(deadline: at(100)).token
        let unasked = try table.open(deadline: at(50)).token
        _ = table.wait(early, "early")
        _ = table.wait(late, "late")
        var (waiters, wakeAt) = table.expire(now: at(49))
        #expect(waiters.isEmpty && wakeAt == at(50))
        (waiters, wakeAt) = table.expire(now: at(50))
        #expect(waiters == ["early"] && wakeAt == at(100))
        #expect(table.wait(unasked, "C").text == "C: expired")
        #expect(table.settle(early, .reply("too late")).text == "nothing")
        (waiters, wakeAt) = table.expire(now: at(100))
        #expect(waiters == ["late"] && wakeAt == nil)
        #expect(try table.open(deadline: at(200)).wakeAt == at(200), "the alarm is set again after all was quiet")
    }

    @Test func anAnswerToEitherSendingCounts() throws {
        var table = Table()
        let token = try table.open(deadline: at(50)).token
        _ = table.wait(token, "A")
        #expect(table.expire(now: at(50)).waiters == ["A"])
        #expect(try table.reopen(token, deadline: at(100)) == at(100))
        #expect(table.settle(token, .reply("of the first sending")).text == "nothing")
        #expect(table.wait(token, "A").text == "A: reply of the first sending")
    }

    @Test func closingFailsWhatWaitsAndWhatComes() throws {
        var table = Table()
        let waiting = try table.open(deadline: at(50)).token
        let open = try table.open(deadline: at(50)).token
        let answered = try table.open(deadline: at(50)).token
        _ = table.wait(waiting, "A")
        _ = table.settle(answered, .reply("yes"))
        #expect(table.close(.unavailable()) == ["A"])
        #expect(table.wait(open, "B").text == "B: failed UNAVAILABLE")
        #expect(table.wait(answered, "C").text == "C: reply yes")
        #expect(throws: ServiceError.unavailable()) { try table.open(deadline: at(60)) }
    }

    @Test func whatIsForgottenLeavesNothingBehind() throws {
        var table = Table()
        for _ in 0..<3 { table.forget(try table.open(deadline: at(50)).token) }
        let answered = try table.open(deadline: at(50)).token
        _ = table.settle(answered, .reply("yes"))
        table.forget(answered)
        #expect(table.count == 0)
        #expect(table.wait(answered, "A").text == "A: failed INTERNAL", "a waiter never hangs")
    }

    /// Whatever happens in whatever order: each waiter is resumed exactly once, and nothing is left.
    @Test(arguments: 0..<50) func everyWaiterIsResumedOnce(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var table = RequestTable<UInt64, String>()
        var resumed: [UInt64: Int] = [:]
        var waiting: Set<UInt64> = []
        var open: [UInt64] = []
        func note(_ action: RequestTable<UInt64, String>.Action) {
            if case .resume(let waiter, _) = action { resumed[waiter, default: 0] += 1 }
        }
        for step in UInt64(0)..<400 {
            switch UInt64.random(in: 0..<5, using: &random) {
            case 0: open.append(try table.open(deadline: at(step + .random(in: 1..<50, using: &random))).token)
            case 1:
                guard let token = open.randomElement(using: &random), waiting.insert(token).inserted else { continue }
                note(table.wait(token, token))
            case 2: if let token = open.randomElement(using: &random) { note(table.settle(token, .reply("r"))) }
            case 3: if let token = open.randomElement(using: &random) { note(table.settle(token, .cancelled)) }
            default: for waiter in table.expire(now: at(step)).waiters { resumed[waiter, default: 0] += 1 }
            }
        }
        for waiter in table.close(.unavailable()) { resumed[waiter, default: 0] += 1 }
        #expect(resumed.values.allSatisfy { $0 == 1 })
        #expect(Set(resumed.keys) == waiting)
        for token in open where !waiting.contains(token) { note(table.wait(token, token)) }
        #expect(table.count == 0)
    }
}

extension RequestTable.Action {
    fileprivate var text: String {
        switch self {
        case .nothing: "nothing"
        case .resume(let waiter, .reply(let reply)): "\(waiter): reply \(reply)"
        case .resume(let waiter, .noResponders): "\(waiter): nobody"
        case .resume(let waiter, .expired): "\(waiter): expired"
        case .resume(let waiter, .cancelled): "\(waiter): cancelled"
        case .resume(let waiter, .failed(let error)): "\(waiter): failed \(error.reason)"
        }
    }
}

/// SplitMix64: the same numbers for the same seed.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
