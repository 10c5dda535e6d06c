import Kernel
import Testing

@testable import Outbox

private struct Delivery: OrderedDelivery, Equatable {
    var streamSequence: Int
    var consumerSequence: Int
    var timestamp: Instant

    /// - Parameter life: which life of the stream took it.
    init(_ stream: Int, _ consumer: Int, life: Int = 0) {
        (streamSequence, consumerSequence) = (stream, consumer)
        timestamp = Instant(microseconds: Int64(life * 1_000_000 + stream))
    }

    var position: StreamPosition { StreamPosition(sequence: streamSequence, timestamp: timestamp) }
}

extension StreamReading where Message == Delivery {
    /// Takes and handles all that may be.
    fileprivate mutating func pass(_ batch: [Delivery], upTo limit: Int = .max) -> [Int] {
        let ready = take(batch)
        let handled = ready.map(\.streamSequence).prefix(limit)
        if !ready.isEmpty { finished(ready, handled: Set(handled), repeated: 0) }
        return Array(handled)
    }
}

@Suite("A pass through a stream")
struct StreamReadingTests {
    private func reading(at position: Delivery? = nil) -> StreamReading<Delivery> { StreamReading(position: position?.position) }

    @Test("What comes without a gap goes on at once, also over numbers that the stream no longer has")
    func noGap() {
        var reading = reading()
        #expect(reading.start == nil)
        let opened = reading.opened(first: 1, isEmpty: false)
        #expect(opened)
        #expect(reading.pass([Delivery(1, 1), Delivery(2, 2)]) == [1, 2])
        #expect(reading.pass([Delivery(5, 3)]) == [5])
        #expect(!reading.isBroken && reading.position == Delivery(5, 3).position)
    }

    @Test("It goes on at the last message that was heard, which is not handled again")
    func goesOn() {
        var reading = reading(at: Delivery(7, 3))
        #expect(reading.start == 7)
        let opened = reading.opened(first: 7, isEmpty: false)
        #expect(opened)
        #expect(reading.pass([Delivery(7, 1), Delivery(8, 2)]) == [8])
        #expect(reading.start == 8)
    }

    @Test("A gap breaks it; what came before is handled, and the next pass begins there")
    func gap() {
        var reading = reading()
        _ = reading.opened(first: 1, isEmpty: false)
        #expect(reading.pass([Delivery(1, 1), Delivery(2, 2), Delivery(4, 4)]) == [1, 2])
        #expect(reading.isBroken)
        #expect(reading.pass([Delivery(5, 5)]) == [])
        let opened = reading.opened(first: 2, isEmpty: false)
        #expect(opened && !reading.isBroken)
        #expect(reading.pass([Delivery(2, 1), Delivery(3, 2), Delivery(4, 3), Delivery(5, 4)]) == [3, 4, 5])
    }

    @Test(
        "Deliveries of a reader that another replica has made break it",
        arguments: [Delivery(3, 1), Delivery(1, 3), Delivery(9, 7)]
    )
    private func foreign(_ delivery: Delivery) {
        var reading = reading()
        _ = reading.opened(first: 1, isEmpty: false)
        #expect(reading.pass([Delivery(1, 1), Delivery(2, 2)]) == [1, 2])
        #expect(reading.pass([delivery]) == [])
        #expect(reading.isBroken && reading.start == 2)
    }

    @Test("What was not handled holds up all that follows, and comes again first")
    func unhandled() {
        var reading = reading()
        _ = reading.opened(first: 1, isEmpty: false)
        #expect(reading.pass((1...5).map { Delivery($0, $0) }, upTo: 3) == [1, 2, 3])
        #expect(reading.isBroken && reading.start == 3)
        #expect(reading.pass([Delivery(6, 6)]) == [])
    }

    @Test("One hole among parallel aggregates keeps the place before it")
    func hole() {
        var reading = reading()
        _ = reading.opened(first: 1, isEmpty: false)
        let ready = reading.take((1...4).map { Delivery($0, $0) })
        reading.finished(ready, handled: [1, 3, 4], repeated: 0)
        #expect(reading.isBroken && reading.start == 1)
    }

    @Test("A stream without the message that was heard last is read from its beginning")
    func otherStream() {
        for (first, isEmpty) in [(3, false), (8, false), (7, true)] {
            var reading = reading(at: Delivery(7, 1))
            let opened = reading.opened(first: first, isEmpty: isEmpty)
            #expect(!opened && reading.start == nil)
            let again = reading.opened(first: 1, isEmpty: false)
            #expect(again && reading.mayRepeat)
        }
        var reading = reading(at: Delivery(7, 1))
        _ = reading.opened(first: 7, isEmpty: false)
        #expect(reading.pass([Delivery(7, 1, life: 1), Delivery(8, 2, life: 1)]) == [])
        #expect(reading.isBroken && reading.start == nil)
    }

    @Test("Deliveries that the broker has made and that do not come are noticed without a later one")
    func lostTail() {
        var reading = reading()
        _ = reading.opened(first: 1, isEmpty: false)
        #expect(reading.pass([Delivery(1, 1)]) == [1])
        reading.checked(delivered: 1)
        reading.checked(delivered: 3)
        #expect(!reading.isBroken, "they may be on their way")
        #expect(reading.pass([Delivery(2, 2), Delivery(3, 3)]) == [2, 3])
        reading.checked(delivered: 4)
        let slow = reading.take([Delivery(4, 4)])
        for _ in 0..<5 { reading.checked(delivered: 9) }
        #expect(!reading.isBroken, "a slow handler is not a loss")
        reading.finished(slow, handled: [4], repeated: 0)
        reading.checked(delivered: 5)
        #expect(!reading.isBroken)
        reading.checked(delivered: 5)
        #expect(reading.isBroken && reading.start == 4)
    }

    /// Readers that lose deliveries and end, replicas that take over from an older place, streams that are made anew.
    @Test("Whatever is lost and whoever reads, each message is handled after all before it", arguments: 0..<300)
    func property(seed: Int) {
        var random = Seeded(seed)
        var life = 0
        var length = 0
        var inbox: [Int] = []
        var noted: [StreamPosition?] = [nil]
        var reading = StreamReading<Delivery>(position: nil)
        for _ in 0..<80 {
            length += random.next(5)
            if random.next(40) == 0 { (life, length, inbox, noted) = (life + 1, 1 + random.next(4), [], [reading.position]) }
            // A replica that takes over goes on from what was noted, perhaps some time ago.
            if random.next(4) == 0 { reading = StreamReading(position: noted.suffix(3).randomElement(using: &random) ?? nil) }
            var start = min(reading.start ?? 1, length + 1)
            if !reading.opened(first: start, isEmpty: start > length) {
                start = 1
                let opened = reading.opened(first: 1, isEmpty: length == 0)
                #expect(opened)
            }
            var consumer = 0
            while start <= length, !reading.isBroken {
                var batch: [Delivery] = []
                for _ in 0...random.next(4) where start <= length {
                    consumer += 1
                    if random.next(8) != 0 { batch.append(Delivery(start, consumer, life: life)) }
                    start += 1
                }
                let ready = reading.take(batch)
                // Some are done already; the others in order, perhaps not all.
                let done = random.next(6) == 0 ? random.next(ready.count + 1) : ready.count
                for message in ready.prefix(done) where !inbox.contains(message.streamSequence) {
                    inbox.append(message.streamSequence)
                }
                if !ready.isEmpty {
                    reading.finished(ready, handled: Set(ready.prefix(done).map(\.streamSequence)), repeated: 1)
                }
                if random.next(3) == 0 { noted.append(reading.position) }
            }
            #expect(inbox == Array(1..<(inbox.count + 1)))
        }
    }
}

/// Random numbers that are the same for the same seed.
private struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: Int) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }

    mutating func next(_ bound: Int) -> Int { Int(next() >> 8) % bound }
}
