import Testing

@testable import Outbox

private struct Delivery: OrderedDelivery, Equatable {
    var streamSequence: Int
    var consumerSequence: Int
    var deliveredCount = 1
}

@Suite("Deliveries are brought into the order of the stream")
struct DeliveryOrderTests {
    private let now = ContinuousClock.now

    private func order(unacknowledged: Int = 0) -> DeliveryOrder<Delivery> {
        DeliveryOrder(unacknowledged: unacknowledged, patience: .seconds(8), now: now)
    }

    @Test("What comes without a gap goes on at once")
    func noGap() {
        var order = order()
        let batch = (1...3).map { Delivery(streamSequence: $0, consumerSequence: $0) }
        #expect(order.take(batch, now: now) == batch)
    }

    @Test("After a gap later messages wait for the lost ones, which come again")
    func gap() {
        var order = order()
        #expect(order.take([Delivery(streamSequence: 1, consumerSequence: 1)], now: now).count == 1)
        #expect(order.take([Delivery(streamSequence: 4, consumerSequence: 4)], now: now).isEmpty)
        #expect(order.take([Delivery(streamSequence: 3, consumerSequence: 5, deliveredCount: 2)], now: now).isEmpty)
        let ready = order.take([Delivery(streamSequence: 2, consumerSequence: 6, deliveredCount: 2)], now: now)
        #expect(ready.map(\.streamSequence) == [2, 3, 4])
    }

    @Test("A message kept so long that it comes again is not taken for a lost one")
    func copies() {
        var order = order(unacknowledged: 1)
        #expect(order.take([Delivery(streamSequence: 9, consumerSequence: 1)], now: now).isEmpty)
        #expect(order.take([Delivery(streamSequence: 9, consumerSequence: 2, deliveredCount: 2)], now: now).isEmpty)
        let ready = order.take([Delivery(streamSequence: 8, consumerSequence: 3, deliveredCount: 2)], now: now)
        #expect(ready.map(\.streamSequence) == [8, 9])
    }

    @Test("Those that do not come in time were acknowledged after all")
    func patience() {
        var order = order(unacknowledged: 2)
        #expect(order.take([Delivery(streamSequence: 9, consumerSequence: 1)], now: now).isEmpty)
        let ready = order.take([Delivery(streamSequence: 10, consumerSequence: 2)], now: now.advanced(by: .seconds(9)))
        #expect(ready.map(\.streamSequence) == [9, 10])
    }

    @Test("Whatever is lost, the first handling of each message follows the stream", arguments: 0..<200)
    func property(seed: Int) {
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        func random(_ bound: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(bound))
        }
        var order = order()
        var consumerSequence = 0
        var handled: [Int] = []
        var lost: [(sequence: Int, count: Int)] = []
        var next = 1
        while next <= 40 || !lost.isEmpty {
            consumerSequence += 1
            let message: (sequence: Int, count: Int)
            if !lost.isEmpty, next > 40 || random(4) == 0 {
                message = lost.removeFirst()
            } else {
                message = (next, 1)
                next += 1
            }
            // The first always arrives: a turn begins with a broker that answers.
            if message.sequence > 1, next <= 40, random(5) == 0 {
                lost.append((message.sequence, message.count + 1))
                continue
            }
            let delivery = Delivery(
                streamSequence: message.sequence,
                consumerSequence: consumerSequence,
                deliveredCount: message.count
            )
            handled += order.take([delivery], now: now).map(\.streamSequence)
        }
        var seen: Set<Int> = []
        let first = handled.filter { seen.insert($0).inserted }
        #expect(first == first.sorted())
    }
}
