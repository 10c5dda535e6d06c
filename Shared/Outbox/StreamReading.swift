internal import Bus
internal import Kernel

/// A place in a stream: its message, and when the broker took it. The time is what tells a stream that was made anew, or lost its end,
/// from the one in which the message had this number.
struct StreamPosition: Sendable, Equatable {
    var sequence: Int
    var timestamp: Instant
}

/// One pass through a stream, from a place before which everything was heard, without gap and without going back: deliveries in, what may
/// be handled out, no I/O.
///
/// It is the whole reason why events of an aggregate are heard in order (D5): each event is offered only after all before it, in the
/// stream's order, and counts as passed only when it and they were handled. Whatever goes missing or comes askew breaks the pass, and
/// the next one begins where this one has come to; what it offers again, the inbox knows. Nothing depends on how long anything takes.
///
///     opened ─▶ (take ─▶ finished)* ─▶ broken ─▶ opened …
struct StreamReading<Message: OrderedDelivery>: Sendable {
    /// Everything up to here was heard; nil: nothing that is known.
    private(set) var position: StreamPosition?
    /// Whether deliveries are missing. A new reader must be opened at `position`.
    private(set) var isBroken = false
    /// Whether some of what comes may have been heard before this pass.
    private(set) var mayRepeat = true
    private var received = 0
    private var isHandling = false
    private var isVerified = false
    private var suspectedAt: Int?
    private var lastSequence = 0

    init(position: StreamPosition?) { self.position = position }

    /// What to ask the broker for: the last message that was heard comes once more, to see whether it still is the same. nil for all.
    var start: Int? { position?.sequence }

    /// The broker has made a reader.
    ///
    /// - Parameters:
    ///   - first: the first message it will deliver.
    ///   - isEmpty: whether there is none yet.
    /// - Returns: false when the stream does not have the message that was heard last: ask again for `start`, which is now nil. It was
    ///   made anew, or lost its end or, by age, its beginning; what was heard of it is in the inbox.
    mutating func opened(first: Int, isEmpty: Bool) -> Bool {
        (isBroken, isHandling, received, lastSequence, suspectedAt) = (false, false, 0, 0, nil)
        mayRepeat = true
        isVerified = position == nil
        guard let position, isEmpty || first != position.sequence else { return true }
        self.position = nil
        return false
    }

    /// - Returns: what is to be handled now, in this order.
    mutating func take(_ batch: [Message]) -> [Message] {
        var ready: [Message] = []
        for message in batch {
            guard !isBroken else { break }
            guard message.consumerSequence == received + 1, message.streamSequence > lastSequence else {
                isBroken = true
                break
            }
            if !isVerified {
                guard StreamPosition(message) == position else {
                    // Not the stream that was heard: all of it may be new.
                    (position, isBroken) = (nil, true)
                    break
                }
            }
            (received, lastSequence) = (message.consumerSequence, message.streamSequence)
            if isVerified { ready.append(message) }
            isVerified = true
        }
        isHandling = !ready.isEmpty
        return ready
    }

    /// What `take` gave has been dealt with as far as it goes.
    ///
    /// - Parameters:
    ///   - handled: the stream sequences of those that were.
    ///   - repeated: how many of them had been heard before.
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

    /// The broker says how many deliveries it has made. Some that have not come by the second time it is asked are lost.
    mutating func checked(delivered: Int) {
        guard !isHandling, delivered != received else {
            suspectedAt = nil
            return
        }
        if suspectedAt == received { isBroken = true }
        suspectedAt = received
    }
}

extension StreamPosition {
    init(_ message: some OrderedDelivery) { self.init(sequence: message.streamSequence, timestamp: message.timestamp) }
}

/// What the order of a delivery depends on.
protocol OrderedDelivery: Sendable {
    /// Its place in the stream.
    var streamSequence: Int { get }
    /// The number of the delivery, counted from the making of its consumer.
    var consumerSequence: Int { get }
    /// When the stream took it.
    var timestamp: Instant { get }
}

extension JetStreamMessage: OrderedDelivery {}
