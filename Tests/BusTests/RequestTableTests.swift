import Kernel
import Testing

@testable import Bus

/// Reads like a protocol: each line an event and what must be done.
@Suite struct RequestTableTests {
    typealias Table = RequestTable<String, String>

    private func at(_ milliseconds: UInt64) -> Tick { Tick(nanoseconds: milliseconds * 1_000_000) }

    @Test func `a reply resumes its waiter once`() throws {
        var table = Table()
        let first = try table.opened(1, at(100))
        let second = try table.opened(2, at(100))
        #expect(table.wait(first, "A").text == "nothing")
        #expect(table.wait(second, "B").text == "nothing")
        #expect(table.settle(second, .reply("two")).text == "B: reply two")
        #expect(table.settle(second, .reply("again")).text == "nothing")
        #expect(table.settle(first, .reply("one")).text == "A: reply one")
        #expect(table.count == 0)
    }

    @Test func `a reply may overtake the waiter`() throws {
        var table = Table()
        let token = try table.opened(1, at(100))
        #expect(table.settle(token, .reply("early")).text == "nothing")
        #expect(table.settle(token, .cancelled).text == "nothing", "the first event decides")
        #expect(table.wait(token, "A").text == "A: reply early")
        #expect(table.count == 0)
    }

    @Test func `cancellation may come before the waiter`() throws {
        var table = Table()
        let token = try table.opened(1, at(100))
        #expect(table.settle(token, .cancelled).text == "nothing")
        #expect(table.wait(token, "A").text == "A: cancelled")
        #expect(table.settle(token, .reply("late")).text == "nothing")
    }

    @Test func `it wakes at the earliest deadline`() throws {
        var table = Table()
        #expect(table.wakeAt == nil)
        for (token, deadline, earliest) in [(1, 100, 100), (2, 200, 100), (3, 100, 100), (4, 50, 50)]
            as [(UInt64, UInt64, UInt64)]
        {
            _ = try table.opened(token, at(deadline))
            #expect(table.wakeAt == at(earliest))
        }
    }

    @Test func `a token that is taken is refused and changes nothing`() throws {
        var table = Table()
        let token = try table.opened(7, at(100))
        _ = table.wait(token, "A")
        let isOpened = try table.open(7, deadline: at(50))
        #expect(!isOpened && table.wakeAt == at(100))
        #expect(table.settle(8, .reply("unknown")).text == "nothing")
        #expect(table.settle(token, .reply("yes")).text == "A: reply yes")
    }

    @Test func `deadlines expire in their order`() throws {
        var table = Table()
        let early = try table.opened(1, at(50))
        let late = try table.opened(2, at(100))
        let unasked = try table.opened(3, at(50))
        _ = table.wait(early, "early")
        _ = table.wait(late, "late")
        var actions = table.expire(now: at(49))
        #expect(actions.isEmpty && table.wakeAt == at(50))
        actions = table.expire(now: at(50))
        #expect(actions.map(\.text) == ["early: expired"] && table.wakeAt == at(100))
        #expect(table.wait(unasked, "C").text == "C: expired")
        #expect(table.settle(early, .reply("too late")).text == "nothing")
        actions = table.expire(now: at(100))
        #expect(actions.map(\.text) == ["late: expired"] && table.wakeAt == nil)
        _ = try table.opened(9, at(200))
        #expect(table.wakeAt == at(200), "after all was quiet")
    }

    @Test func `silence wakes the waiter and the request stays open`() throws {
        var table = Table()
        let token = try table.opened(1, at(100))
        #expect(table.wait(token, "A", silentAt: at(20)).text == "nothing")
        #expect(table.wakeAt == at(20))
        #expect(table.expire(now: at(20)).map(\.text) == ["A: silence"])
        #expect(table.wakeAt == at(100), "the same silence wakes once")
        #expect(table.settle(token, .reply("between two waits")).text == "nothing")
        #expect(table.wait(token, "A", silentAt: at(40)).text == "A: reply between two waits")
        #expect(table.count == 0)
    }

    @Test func `a reply to any sending counts, in the order of arrival`() throws {
        var table = Table()
        let token = try table.opened(1, at(100))
        _ = table.wait(token, "A", silentAt: at(20))
        #expect(table.expire(now: at(20)).map(\.text) == ["A: silence"])
        try table.keep(token, deadline: at(100))
        #expect(table.settle(token, .reply("refusal of the first")).text == "nothing")
        #expect(table.settle(token, .reply("reply to the second")).text == "nothing")
        #expect(table.wait(token, "A").text == "A: reply refusal of the first")
        #expect(table.wait(token, "A").text == "A: reply reply to the second")
        #expect(table.wait(token, "A", silentAt: at(50)).text == "nothing")
        #expect(table.expire(now: at(100)).map(\.text) == ["A: expired"])
        #expect(table.count == 1)
        table.remove(token)
        #expect(table.count == 0)
    }

    @Test func `a request that was answered can be sent again`() throws {
        var table = Table()
        let token = try table.opened(1, at(100))
        _ = table.wait(token, "A")
        #expect(table.settle(token, .reply("refusal")).text == "A: reply refusal")
        try table.keep(token, deadline: at(100))
        #expect(table.wait(token, "A", silentAt: at(10)).text == "nothing")
        #expect(table.settle(token, .reply("answer")).text == "A: reply answer")
        table.remove(token)
        #expect(table.count == 0)
    }

    @Test func `closing fails what waits and what comes`() throws {
        var table = Table()
        let waiting = try table.opened(1, at(50))
        let open = try table.opened(2, at(50))
        let answered = try table.opened(3, at(50))
        _ = table.wait(waiting, "A")
        _ = table.settle(answered, .reply("yes"))
        #expect(table.close(.unavailable()).map(\.text) == ["A: failed UNAVAILABLE"])
        #expect(table.wait(open, "B").text == "B: failed UNAVAILABLE")
        #expect(table.wait(answered, "C").text == "C: reply yes")
        #expect(throws: ServiceError.unavailable()) { try table.open(9, deadline: at(60)) }
    }

    @Test func `what is removed leaves nothing behind`() throws {
        var table = Table()
        for token in UInt64(1)...3 { table.remove(try table.opened(token, at(50))) }
        let answered = try table.opened(4, at(50))
        _ = table.settle(answered, .reply("yes"))
        table.remove(answered)
        #expect(table.count == 0)
        #expect(table.wait(answered, "A").text == "A: failed INTERNAL", "a waiter never hangs")
    }

    /// Whatever happens in whatever order: each waiter is resumed exactly once, and nothing is left.
    @Test(arguments: 0..<50) func `every waiter is resumed once`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var table = RequestTable<UInt64, String>()
        var resumed: [UInt64: Int] = [:]
        var waiting: Set<UInt64> = []
        var open: [UInt64] = []
        func note(_ action: RequestTable<UInt64, String>.Action) {
            // Each wait has a waiter of its own.
            if case .resume(let waiter, _) = action { resumed[waiter, default: 0] += 1 }
        }
        for step in UInt64(0)..<400 {
            let silentAt = Bool.random(using: &random) ? at(step + .random(in: 0..<20, using: &random)) : .never
            switch UInt64.random(in: 0..<7, using: &random) {
            case 0: open.append(try table.opened(step, at(step + .random(in: 1..<50, using: &random))))
            case 1:
                guard let token = open.randomElement(using: &random), waiting.insert(token).inserted else { continue }
                note(table.wait(token, token, silentAt: silentAt))
            case 2:
                guard let token = open.randomElement(using: &random), resumed[token] == 1, waiting.insert(1_000 + step).inserted
                else { continue }
                try table.keep(token, deadline: at(step + 30))
                note(table.wait(token, 1_000 + step, silentAt: silentAt))
            case 3, 4: if let token = open.randomElement(using: &random) { note(table.settle(token, .reply("r"))) }
            case 5: if let token = open.randomElement(using: &random) { note(table.settle(token, .cancelled)) }
            default: for action in table.expire(now: at(step)) { note(action) }
            }
        }
        for action in table.close(.unavailable()) { note(action) }
        #expect(resumed.values.allSatisfy { $0 == 1 })
        #expect(Set(resumed.keys) == waiting)
        for token in open {
            if !waiting.contains(token) { note(table.wait(token, token)) }
            table.remove(token)
        }
        #expect(table.count == 0)
    }
}

extension RequestTable {
    /// Opens a request under a token that is free.
    fileprivate mutating func opened(_ token: UInt64, _ deadline: Tick) throws -> UInt64 {
        let isOpened = try open(token, deadline: deadline)
        try #require(isOpened)
        return token
    }
}

extension RequestTable.Action {
    fileprivate var text: String {
        switch self {
        case .nothing: "nothing"
        case .resume(let waiter, .reply(let reply)): "\(waiter): reply \(reply)"
        case .resume(let waiter, .noResponders(let instance)): "\(waiter): no responders \(instance?.text ?? "")"
        case .resume(let waiter, .silence): "\(waiter): silence"
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
