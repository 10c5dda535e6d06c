import Kernel
import TestSupport
import Testing

@testable import Passwords

@Suite struct FairQueueTests {
    private func address(_ number: Int) -> IPAddress? { IPAddress("10.0.\(number >> 8 & 255).\(number & 255)") }

    private func drained<Ticket>(_ queue: inout FairQueue<Ticket>) -> [Ticket] {
        var order: [Ticket] = []
        while let next = queue.next() { order.append(next) }
        return order
    }

    @Test func `four sign-ins come to one new password`() {
        var queue = FairQueue<String>(limit: 64, limitOfAddress: 64)
        for number in 0..<10 { #expect(queue.add("in\(number)", of: .init(.signIn, address: address(number))) == .waits) }
        for number in 0..<3 { #expect(queue.add("new\(number)", of: .init(.newPassword, address: address(number))) == .waits) }
        let order = drained(&queue)
        #expect(
            order == [
                "in0", "in1", "in2", "in3", "new0", "in4", "in5", "in6", "in7", "new1", "in8", "in9", "new2",
            ]
        )
    }

    @Test func `addresses take turns and each is served in its order`() {
        var queue = FairQueue<String>(limit: 64, limitOfAddress: 4)
        for number in 0..<4 { _ = queue.add("a\(number)", of: .init(.signIn, address: address(1))) }
        _ = queue.add("b0", of: .init(.signIn, address: address(2)))
        _ = queue.add("c0", of: .init(.signIn, address: address(3)))
        #expect(queue.add("a4", of: .init(.newPassword, address: address(1))) == .addressFull, "whatever for")
        #expect(drained(&queue) == ["a0", "b0", "c0", "a1", "a2", "a3"])
        #expect(queue.add("a4", of: .init(.signIn, address: address(1))) == .waits)
    }

    @Test func `one client's many addresses of version 6 are one`() {
        var queue = FairQueue<Int>(limit: 64, limitOfAddress: 4)
        let answers = (0..<6).map { queue.add($0, of: .init(.signIn, address: IPAddress("2001:db8:1:2::\($0)"))) }
        #expect(answers == [.waits, .waits, .waits, .waits, .addressFull, .addressFull])
        #expect(queue.add(9, of: .init(.signIn, address: IPAddress("2001:db8:1:3::1"))) == .waits)
    }

    /// Random additions, removals and turns against a plain list: no request is lost or served twice, limits hold, and one that is alone with
    /// an address waits for no more than one turn of every other address and their share of the other purpose.
    @Test(arguments: 0..<200) func `no request is lost and none waits behind a long line`(seed: UInt64) {
        var random = Seeded(seed)
        var queue = FairQueue<Int>(limit: 20, limitOfAddress: 4)
        var waiting: [Int: HashRequester] = [:]
        var turnsSince: [Int: Int] = [:]
        for ticket in 0..<300 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1, 2:
                let requester = HashRequester(
                    Int.random(in: 0..<2, using: &random) == 0 ? .signIn : .newPassword,
                    address: address(Int.random(in: 0..<6, using: &random))
                )
                let ofAddress = waiting.values.count { $0.network == requester.network }
                let expected: FairQueue<Int>.Admission = ofAddress >= 4 ? .addressFull : waiting.count >= 20 ? .full : .waits
                #expect(queue.add(ticket, of: requester) == expected, "seed \(seed), ticket \(ticket)")
                if expected == .waits { (waiting[ticket], turnsSince[ticket]) = (requester, 0) }
            case 3:
                let other = waiting.keys.sorted().first ?? -1
                #expect(queue.remove(other) == (waiting.removeValue(forKey: other) != nil), "seed \(seed), ticket \(ticket)")
            default:
                let next = queue.next()
                #expect((next == nil) == waiting.isEmpty, "seed \(seed), ticket \(ticket)")
                guard let next else { continue }
                #expect(waiting.removeValue(forKey: next) != nil, "seed \(seed), ticket \(ticket)")
                for other in waiting.keys { turnsSince[other, default: 0] += 1 }
                // 6 addresses, at most 4 of one before it, and of five turns four may be the other purpose's.
                #expect(turnsSince[next, default: 0] <= 6 * 4 * 5, "seed \(seed), ticket \(ticket)")
            }
            #expect(queue.count == waiting.count, "seed \(seed), ticket \(ticket)")
        }
    }
}
