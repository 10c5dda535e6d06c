internal import Bus

/// Brings deliveries of a durable consumer into the order of the stream: messages in, messages out, no I/O.
///
/// The broker delivers in order until deliveries are lost: with a connection, or at a replica that died. It delivers those again only after
/// the ack wait, and later messages meanwhile. So while some are missing, what arrives is kept; when they have come, or cannot come any more
/// (their acknowledgement was on its way), everything goes on in order.
struct DeliveryOrder<Message: OrderedDelivery>: Sendable {
    private let patience: Duration
    private var kept: [Int: Message] = [:]
    private var missing: Int
    private var until: ContinuousClock.Instant
    private var lastDelivery: Int?

    /// - Parameters:
    ///   - unacknowledged: messages that were delivered to somebody else and not acknowledged yet.
    ///   - patience: longer than the ack wait.
    init(unacknowledged: Int, patience: Duration, now: ContinuousClock.Instant) {
        self.patience = patience
        self.missing = unacknowledged
        self.until = now.advanced(by: patience)
    }

    /// - Returns: what may be handled now.
    mutating func take(_ batch: [Message], now: ContinuousClock.Instant) -> [Message] {
        var ready: [Message] = []
        for message in batch {
            if let lastDelivery, message.consumerSequence > lastDelivery + 1 {
                if missing == 0 { kept.removeAll() }
                missing += message.consumerSequence - lastDelivery - 1
                until = now.advanced(by: patience)
            }
            lastDelivery = message.consumerSequence
            guard missing > 0 else {
                ready.append(message)
                continue
            }
            if message.deliveredCount > 1, kept[message.streamSequence] == nil { missing -= 1 }
            kept[message.streamSequence] = message
            if missing == 0 || now >= until { ready += release() }
        }
        if missing > 0, now >= until { ready += release() }
        return ready
    }

    private mutating func release() -> [Message] {
        defer {
            kept.removeAll()
            missing = 0
        }
        return kept.sorted { $0.key < $1.key }.map(\.value)
    }
}

/// What the order of a delivery depends on.
protocol OrderedDelivery: Sendable {
    /// Its place in the stream.
    var streamSequence: Int { get }
    /// The number of the delivery.
    var consumerSequence: Int { get }
    /// 1 for the first.
    var deliveredCount: Int { get }
}

extension JetStreamMessage: OrderedDelivery {}
