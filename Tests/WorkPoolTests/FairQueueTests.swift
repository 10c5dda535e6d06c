import TestSupport
import Testing
import WorkPool

@Suite struct FairQueueTests {
    private enum Purpose: TurnPurpose {
        case often, rarely
        var share: Int { self == .often ? 4 : 1 }
    }

    private typealias Queue<Ticket: Hashable & Sendable> = FairQueue<Ticket, Int, Purpose>

    private func drained<Ticket>(_ queue: inout Queue<Ticket>) -> [Ticket] {
        var order: [Ticket] = []
        while let next = queue.next() { order.append(next) }
        return order
    }

    @Test func `each purpose gets its share of the turns`() {
        var queue = Queue<String>(limit: 64, limitOfOwner: 64)
        for number in 0..<10 { #expect(queue.add("o\(number)", of: number, for: .often) == .waits) }
        for number in 0..<3 { #expect(queue.add("r\(number)", of: number, for: .rarely) == .waits) }
        #expect(drained(&queue) == ["o0", "o1", "o2", "o3", "r0", "o4", "o5", "o6", "o7", "r1", "o8", "o9", "r2"])
    }

    @Test func `owners take turns and each is served in its order`() {
        var queue = Queue<String>(limit: 64, limitOfOwner: 4)
        for number in 0..<4 { _ = queue.add("a\(number)", of: 1, for: .often) }
        _ = queue.add("b0", of: 2, for: .often)
        _ = queue.add("c0", of: 3, for: .often)
        #expect(queue.add("a4", of: 1, for: .rarely) == .ownerFull, "whatever for")
        #expect(drained(&queue) == ["a0", "b0", "c0", "a1", "a2", "a3"])
        #expect(queue.add("a4", of: 1, for: .often) == .waits)
    }

    @Test func `who may not begin yet is passed over and keeps the place`() {
        var queue = Queue<String>(limit: 64, limitOfOwner: 64)
        for number in 0..<2 { _ = queue.add("a\(number)", of: 1, for: .often) }
        _ = queue.add("b0", of: 2, for: .rarely)
        #expect(queue.next { owner, _ in owner != 1 } == "b0")
        #expect(queue.next { owner, _ in owner != 1 } == nil && queue.count == 2)
        #expect(drained(&queue) == ["a0", "a1"])
    }

    /// Random additions, removals and turns against a plain list: no request is lost or served twice, limits hold, and one that is alone with
    /// an owner waits for no more than one turn of every other owner and their share of the other purpose.
    @Test(arguments: 0..<200) func `no request is lost and none waits behind a long line`(seed: UInt64) {
        var random = Seeded(seed)
        var queue = Queue<Int>(limit: 20, limitOfOwner: 4)
        var waiting: [Int: Int?] = [:]
        var turnsSince: [Int: Int] = [:]
        for ticket in 0..<300 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1, 2:
                let number = Int.random(in: 0..<6, using: &random)
                let owner = number == 0 ? nil : number
                let ofOwner = waiting.values.count { $0 == owner }
                let expected: Queue<Int>.Admission =
                    owner != nil && ofOwner >= 4 ? .ownerFull : waiting.count >= 20 ? .full : .waits
                let purpose: Purpose = Bool.random(using: &random) ? .often : .rarely
                #expect(queue.add(ticket, of: owner, for: purpose) == expected, "seed \(seed), ticket \(ticket)")
                if expected == .waits {
                    waiting.updateValue(owner, forKey: ticket)
                    turnsSince[ticket] = 0
                }
            case 3:
                let other = waiting.keys.sorted().first ?? -1
                #expect(queue.remove(other) == (waiting.removeValue(forKey: other) != nil), "seed \(seed), ticket \(ticket)")
            default:
                let next = queue.next()
                #expect((next == nil) == waiting.isEmpty, "seed \(seed), ticket \(ticket)")
                guard let next else { continue }
                #expect(waiting.removeValue(forKey: next) != nil, "seed \(seed), ticket \(ticket)")
                for other in waiting.keys { turnsSince[other, default: 0] += 1 }
                // 6 owners, at most 4 of one before it (20 of none), and of five turns four may be the other purpose's.
                #expect(turnsSince[next, default: 0] <= 6 * 20 * 5, "seed \(seed), ticket \(ticket)")
            }
            #expect(queue.count == waiting.count, "seed \(seed), ticket \(ticket)")
        }
    }
}
