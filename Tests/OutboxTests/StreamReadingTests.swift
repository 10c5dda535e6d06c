import Kernel
import TestSupport
import Testing

@testable import Outbox

private struct Delivery: OrderedMessage, Equatable {
    var streamSequence: Int
    var delivery: Int?
    var timestamp: Instant

    /// - Parameters:
    ///   - number: that of the delivery; nil for a message read by its place.
    ///   - life: which life of the stream took it.
    init(_ stream: Int, _ number: Int?, life: Int = 0) {
        (streamSequence, delivery) = (stream, number)
        timestamp = Instant(microseconds: Int64(life * 1_000_000 + stream))
    }

    var position: StreamPosition { StreamPosition(sequence: streamSequence, timestamp: timestamp) }
}

extension StreamReading where Message == Delivery {
    /// Takes and handles all that may be.
    fileprivate mutating func pass(_ batch: [Delivery], upTo limit: Int = .max) -> [Int] { finish(take(batch), upTo: limit) }

    /// The same with messages read by place.
    fileprivate mutating func read(_ batch: [Delivery], of range: ClosedRange<Int>) -> [Int] {
        finish(takeRead(batch, of: range), upTo: .max)
    }

    private mutating func finish(_ ready: [Delivery], upTo limit: Int) -> [Int] {
        let handled = ready.map(\.streamSequence).prefix(limit)
        if !ready.isEmpty { finished(ready, handled: Set(handled), repeated: 0) }
        return Array(handled)
    }
}

@Suite("A pass through a stream")
struct StreamReadingTests {
    /// A pass from after `position`, when the consumer has made so many deliveries up to a place.
    private func reading(
        at position: Delivery? = nil,
        deliveries: Int = 0,
        through: Int = 0,
        newest: Int = 100
    ) -> StreamReading<Delivery> {
        var reading = StreamReading<Delivery>(position: position?.position)
        let opening = reading.opened(
            consumer: ConsumerStart(deliveries: deliveries, through: through),
            newest: newest,
            anchor: position?.position
        )
        #expect(opening == .ready)
        return reading
    }

    @Test func `What comes without a gap goes on at once`() {
        var reading = reading()
        #expect(reading.missing == nil)
        #expect(reading.pass([Delivery(1, 1), Delivery(2, 2)]) == [1, 2])
        #expect(reading.pass([Delivery(3, 3)]) == [3])
        #expect(!reading.isBroken && reading.position == Delivery(3, 3).position)
    }

    @Test func `What the consumer has delivered to others, or in vain, is read by its place first`() {
        var reading = reading(at: Delivery(3, 3), deliveries: 9, through: 7)
        #expect(reading.missing == 4...7)
        #expect(reading.read([Delivery(4, nil), Delivery(5, nil)], of: 4...7) == [4, 5])
        #expect(reading.missing == 6...7)
        #expect(reading.read([Delivery(7, nil)], of: 6...7) == [7], "6 is not there any more")
        #expect(reading.missing == nil)
        #expect(reading.pass([Delivery(8, 10), Delivery(9, 11)]) == [8, 9])
    }

    @Test func `Places that the stream does not have any more are passed`() {
        var reading = reading(deliveries: 5, through: 5)
        #expect(reading.missing == 1...5)
        #expect(reading.read([], of: 1...5) == [])
        #expect(reading.missing == nil && !reading.isBroken)
        #expect(reading.pass([Delivery(6, 6)]) == [6])
    }

    @Test func `A consumer that was made anew delivers from the beginning; what was consumed is left out`() {
        var reading = reading(at: Delivery(3, nil))
        #expect(reading.missing == nil)
        #expect(reading.pass((1...5).map { Delivery($0, $0) }) == [4, 5])
    }

    @Test func `A gap breaks it; what came before is handled, and the next pass begins there`() {
        var reading = reading()
        #expect(reading.pass([Delivery(1, 1), Delivery(2, 2), Delivery(4, 4)]) == [1, 2])
        #expect(reading.isBroken)
        #expect(reading.pass([Delivery(5, 5)]) == [])
        let opening = reading.opened(
            consumer: ConsumerStart(deliveries: 5, through: 5),
            newest: 5,
            anchor: Delivery(2, nil).position
        )
        #expect(opening == .ready && !reading.isBroken && reading.missing == 3...5)
    }

    @Test(arguments: [Delivery(3, 1), Delivery(1, 3), Delivery(9, 7), Delivery(4, 3), Delivery(3, nil), Delivery(3, 3, life: -1)])
    private func `Deliveries of another consumer, or out of line, break it`(_ delivery: Delivery) {
        var reading = reading()
        #expect(reading.pass([Delivery(1, 1), Delivery(2, 2)]) == [1, 2])
        #expect(reading.pass([delivery]) == [])
        #expect(reading.isBroken && reading.anchor == 2)
    }

    @Test func `What was not handled holds up all that follows, and comes again first`() {
        var reading = reading()
        #expect(reading.pass((1...5).map { Delivery($0, $0) }, upTo: 3) == [1, 2, 3])
        #expect(reading.isBroken && reading.anchor == 3)
        #expect(reading.pass([Delivery(6, 6)]) == [])
    }

    @Test func `One hole among parallel aggregates keeps the place before it`() {
        var reading = reading()
        let ready = reading.take((1...4).map { Delivery($0, $0) })
        reading.finished(ready, handled: [1, 3, 4], repeated: 0)
        #expect(reading.isBroken && reading.anchor == 1)
    }

    @Test func `A stream without the message that was consumed last is read from its beginning`() {
        for anchor in [nil, Delivery(7, nil, life: 1).position] {
            var reading = StreamReading<Delivery>(position: Delivery(7, nil).position)
            let opening = reading.opened(consumer: ConsumerStart(deliveries: 2, through: 2), newest: 9, anchor: anchor)
            #expect(opening == .otherStream && reading.anchor == nil && reading.missing == 1...2 && reading.mayRepeat)
        }
    }

    @Test func `A consumer that has passed the end of its stream is not read from: what comes there would not be delivered`() {
        var reading = StreamReading<Delivery>(position: Delivery(7, nil).position)
        let opening = reading.opened(
            consumer: ConsumerStart(deliveries: 9, through: 9),
            newest: 8,
            anchor: Delivery(7, nil).position
        )
        #expect(opening == .consumerAhead)
    }

    @Test func `Deliveries that the broker has made and that do not come are noticed without a later one`() {
        var reading = reading()
        #expect(reading.pass([Delivery(1, 1)]) == [1])
        reading.checked(deliveries: 1)
        reading.checked(deliveries: 3)
        #expect(!reading.isBroken, "they may be on their way")
        #expect(reading.pass([Delivery(2, 2), Delivery(3, 3)]) == [2, 3])
        reading.checked(deliveries: 4)
        let slow = reading.take([Delivery(4, 4)])
        for _ in 0..<5 { reading.checked(deliveries: 9) }
        #expect(!reading.isBroken, "a slow handler is not a loss")
        reading.finished(slow, handled: [4], repeated: 0)
        reading.checked(deliveries: 5)
        #expect(!reading.isBroken)
        reading.checked(deliveries: 5)
        #expect(reading.isBroken && reading.anchor == 4)
    }

    /// A consumer that all replicas share, deliveries that are lost or go to others, replicas that take over from an older place, messages
    /// that age out, consumers and streams that are made anew, streams that lose their end.
    @Test(arguments: 0..<400) func `Whatever is lost and whichever reader: each message is handled once, and after all before it`(
        seed: Int
    ) {
        var broker = Broker(seed: UInt64(seed))
        for _ in 0..<120 { broker.step() }
        broker.isQuiet = true
        for _ in 0..<6 { broker.step() }
        #expect(broker.unhandled.isEmpty, "everything is handled in the end")
        #expect(broker.violations.isEmpty, "\(broker.violations)")
    }
}

/// A broker, a consumer and replicas that read, as far as the rules of a pass are concerned.
private struct Broker {
    private var random: Seeded
    private var life = 0
    /// The places that the stream has now.
    private var places = 1..<1
    private var consumer = ConsumerStart(deliveries: 0, through: 0)
    private var inbox: Set<Int> = []
    private var reading = StreamReading<Delivery>(position: nil)
    private var noted: [StreamPosition?] = [nil]
    private(set) var violations: [String] = []
    /// Nothing is lost any more.
    var isQuiet = false

    init(seed: UInt64) { random = Seeded(seed) }

    /// What the stream has and no replica has handled.
    var unhandled: [Int] { places.filter { !inbox.contains($0) } }

    private mutating func happens(_ percent: Int) -> Bool { !isQuiet && random.chance(percent) }

    private mutating func upTo(_ bound: Int) -> Int { Int.random(in: 0...bound, using: &random) }

    mutating func step() {
        if !isQuiet { places = places.lowerBound..<places.upperBound + upTo(4) }
        misfortune()
        // The operator's process sees that a consumer is ahead.
        if consumer.through >= places.upperBound { consumer = ConsumerStart(deliveries: 0, through: places.lowerBound - 1) }
        if happens(25) { reading = StreamReading(position: random.pick(Array(noted.suffix(3)))) }
        pass()
        noted.append(reading.position)
    }

    private mutating func misfortune() {
        if happens(3) {
            // The stream is made anew.
            (life, places, inbox) = (life + 1, 1..<1 + upTo(4), [])
            consumer = ConsumerStart(deliveries: 0, through: 0)
        }
        if happens(3) {
            // It loses its end; what comes there later is other messages.
            let end = max(places.lowerBound, places.upperBound - upTo(3))
            inbox = inbox.filter { $0 < end }
            (life, places) = (life + 1, places.lowerBound..<end)
        }
        if happens(5) { places = min(places.upperBound, places.lowerBound + upTo(3))..<places.upperBound }
        if happens(4) { consumer = ConsumerStart(deliveries: 0, through: places.lowerBound - 1) }
        // Another replica, frozen by now, had asked for some.
        if happens(20) { for _ in 0...upTo(3) { _ = deliver() } }
    }

    private func message(_ place: Int, _ delivery: Int?) -> Delivery { Delivery(place, delivery, life: life) }

    private mutating func deliver() -> Delivery? {
        let place = max(consumer.through + 1, places.lowerBound)
        guard places.contains(place) else { return nil }
        consumer = ConsumerStart(deliveries: consumer.deliveries + 1, through: place)
        return message(place, consumer.deliveries)
    }

    private mutating func pass() {
        let anchor = reading.anchor.flatMap { places.contains($0) ? message($0, nil).position : nil }
        let newest = places.isEmpty ? 0 : places.upperBound - 1
        guard reading.opened(consumer: consumer, newest: newest, anchor: anchor) != .consumerAhead else { return }
        while !reading.isBroken, let range = reading.missing {
            let found = places.clamped(to: range.lowerBound..<range.upperBound + 1).prefix(1 + upTo(2)).map { message($0, nil) }
            handle(reading.takeRead(found, of: range))
        }
        while !reading.isBroken {
            var batch: [Delivery] = []
            for _ in 0...upTo(4) {
                guard let delivery = deliver() else { break }
                if !happens(10) { batch.append(delivery) }
            }
            guard !batch.isEmpty else { break }
            handle(reading.take(batch))
        }
    }

    /// Some are done already; the others in order, perhaps not all.
    private mutating func handle(_ ready: [Delivery]) {
        guard !ready.isEmpty else { return }
        let done = happens(15) ? upTo(ready.count) : ready.count
        for message in ready.prefix(done) {
            let skipped = places.prefix { $0 < message.streamSequence }.filter { !inbox.contains($0) }
            if !skipped.isEmpty { violations.append("\(message.streamSequence) before \(skipped)") }
            inbox.insert(message.streamSequence)
        }
        reading.finished(ready, handled: Set(ready.prefix(done).map(\.streamSequence)), repeated: 1)
    }
}
