internal import Bus
internal import Kernel

/// A place in a stream: its message, and when the broker took it. The time distinguishes a stream that was made anew, or lost its end,
/// from the one in which the message had this number.
struct StreamPosition: Sendable, Equatable {
    var sequence: Int
    var timestamp: Instant
}

/// What the broker says of a durable consumer when a pass begins: deliveries continue from there.
struct ConsumerStart: Sendable, Equatable {
    /// How many deliveries it has made.
    var deliveries: Int
    /// The last message of the stream that it has passed.
    var through: Int
}

/// One pass through a stream, from a position up to which everything was consumed, without gap and without going back: messages in, what may
/// be handled out, no I/O.
///
/// It is the whole reason why events of an aggregate are consumed in order (D5): each event is offered only after all before it, in the
/// stream's order, and counts as passed only when it and they were handled. The durable consumer is shared by all replicas and only ever goes
/// forward, so a pass begins with what it has delivered already, to any replica: that is read by its place (`missing`). Then deliveries are
/// taken as they come. A delivery that is missing or out of order ends the pass, and the next one begins where this one has come to; what it
/// offers again, the inbox has. Nothing depends on how long anything takes.
///
///     opened ─▶ (missing ─▶ takeRead ─▶ finished)* ─▶ (take ─▶ finished)* ─▶ broken ─▶ opened …
struct StreamReading<Message: OrderedMessage>: Sendable {
    /// Everything up to here was consumed; nil: nothing that is known.
    private(set) var position: StreamPosition?
    /// Whether deliveries are missing. The next pass must be opened.
    private(set) var isBroken = false
    /// Whether some of what comes may have been consumed before this pass.
    private(set) var mayRepeat = true
    /// The first place that was not offered yet.
    private var next = 1
    private var received = ConsumerStart(deliveries: 0, through: 0)
    private var isHandling = false
    private var suspectedAt: Int?
    /// Whether the broker has made deliveries that have not come: it should be asked again soon.
    var isSuspicious: Bool { suspectedAt != nil }

    init(position: StreamPosition?) {
        self.position = position
        if let position { next = position.sequence + 1 }
    }

    /// The place of the message that was consumed last: `opened` wants to know whether it is still the same.
    var anchor: Int? { position?.sequence }

    /// What the begin of a pass found.
    enum Opening: Sendable, Equatable {
        case ready
        /// The stream does not have the message that was consumed last: it was made anew, or lost its end or, by age, its beginning. It is
        /// read from its beginning; what was consumed of it is in the inbox.
        case otherStream
        /// The consumer has passed places that the stream does not have (yet): what comes there would not be delivered. The stream has lost
        /// its end and the consumer is about to be made anew, or all messages are gone by age and the next one settles it. To be tried again.
        case consumerAhead
    }

    /// A pass begins. The broker is asked in the order of the parameters.
    ///
    /// - Parameters:
    ///   - consumer: where its deliveries continue.
    ///   - newest: the place of the newest message of the stream; 0 for none.
    ///   - anchor: the message that the stream has at `anchor`; nil for none.
    mutating func opened(consumer: ConsumerStart, newest: Int, anchor: StreamPosition?) -> Opening {
        (isBroken, isHandling, suspectedAt, mayRepeat) = (false, false, nil, true)
        received = consumer
        let isOther = position != nil && position != anchor
        if isOther { position = nil }
        next = (position?.sequence ?? 0) + 1
        if consumer.through > newest { return .consumerAhead }
        return isOther ? .otherStream : .ready
    }

    /// What was delivered before this pass and not consumed: to be read by place, and given to `takeRead`. nil when deliveries may be taken.
    var missing: ClosedRange<Int>? { next <= received.through ? next...received.through : nil }

    /// Takes messages that were read by place, in the order of the stream.
    ///
    /// - Parameter range: what was asked for. Places in it before the last of `batch`, or all of them when it is empty, have no message.
    /// - Returns: what is to be handled now, in this order.
    mutating func takeRead(_ batch: [Message], of range: ClosedRange<Int>) -> [Message] {
        guard !isBroken else { return [] }
        let ready = batch.filter { $0.streamSequence >= next }
        next = max(next, (batch.last?.streamSequence ?? range.upperBound) + 1)
        isHandling = !ready.isEmpty
        return ready
    }

    /// Takes deliveries of the consumer.
    ///
    /// - Returns: what is to be handled now, in this order.
    mutating func take(_ batch: [Message]) -> [Message] {
        var ready: [Message] = []
        for message in batch where !isBroken {
            guard let delivery = message.delivery, delivery == received.deliveries + 1,
                message.streamSequence == received.through + 1,
                fits(message)
            else {
                // Lost on the way, given to another replica, or of another consumer or stream than at the beginning.
                isBroken = true
                break
            }
            received = ConsumerStart(deliveries: delivery, through: message.streamSequence)
            // A consumer that was made anew delivers from the beginning.
            guard message.streamSequence >= next else { continue }
            next = message.streamSequence + 1
            ready.append(message)
        }
        isHandling = !ready.isEmpty
        return ready
    }

    /// Whether a message can be of the stream that has the position: times only grow.
    private func fits(_ message: Message) -> Bool {
        guard let position else { return true }
        if message.streamSequence == position.sequence { return message.timestamp == position.timestamp }
        return message.streamSequence < position.sequence
            ? message.timestamp <= position.timestamp : message.timestamp >= position.timestamp
    }

    /// What `take` or `takeRead` gave has been dealt with as far as it goes.
    ///
    /// - Parameters:
    ///   - handled: the stream sequences of those that were.
    ///   - repeated: how many of them had been consumed before.
    mutating func finished(_ messages: [Message], handled: Set<Int>, repeated: Int) {
        isHandling = false
        if repeated == 0 { mayRepeat = false }
        for message in messages {
            guard handled.contains(message.streamSequence) else {
                // What comes next must not overtake it.
                isBroken = true
                return
            }
            position = StreamPosition(message)
        }
    }

    /// What `take` or `takeRead` gave is nothing that is handled.
    mutating func passed(_ messages: [Message]) {
        isHandling = false
        if let last = messages.last { position = StreamPosition(last) }
    }

    /// The broker says how many deliveries it has made. Some that have not come by the second time it is asked are lost.
    mutating func checked(deliveries: Int) {
        guard !isHandling, deliveries != received.deliveries else {
            suspectedAt = nil
            return
        }
        if suspectedAt == received.deliveries { isBroken = true }
        suspectedAt = received.deliveries
    }
}

extension StreamPosition {
    init(_ message: some OrderedMessage) { self.init(sequence: message.streamSequence, timestamp: message.timestamp) }

    init(_ message: StoredMessage) { self.init(sequence: message.streamSequence, timestamp: message.timestamp) }
}

/// What the order of a message depends on.
protocol OrderedMessage: Sendable {
    /// Its place in the stream.
    var streamSequence: Int { get }
    /// The number of the delivery, counted from the making of its consumer; nil when it was read by its place.
    var delivery: Int? { get }
    /// When the stream took it.
    var timestamp: Instant { get }
}

/// A message of an event stream, delivered or read by its place.
struct StreamMessage: OrderedMessage {
    let streamSequence: Int
    let delivery: Int?
    let timestamp: Instant
    let subject: String
    let headers: BusHeaders
    let body: [UInt8]

    init(_ message: JetStreamMessage) {
        (streamSequence, delivery, timestamp) = (message.streamSequence, message.consumerSequence, message.timestamp)
        (subject, headers, body) = (message.subject, message.headers, message.body)
    }

    init(_ message: StoredMessage) {
        (streamSequence, delivery, timestamp) = (message.streamSequence, nil, message.timestamp)
        (subject, headers, body) = (message.subject, message.headers, message.body)
    }
}
