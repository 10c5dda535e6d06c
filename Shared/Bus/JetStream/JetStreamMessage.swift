public import Kernel

/// A message of a stream as a consumer receives it. To be acknowledged once it has had its effect.
public struct JetStreamMessage: Sendable {
    /// The subject it was published to.
    public let subject: String
    /// Its headers.
    public let headers: BusHeaders
    /// Its payload.
    public let body: [UInt8]
    /// Its sequence number in the stream.
    public let streamSequence: Int
    /// The number of this delivery among all of its durable consumer. A gap means that deliveries were lost, or went to another
    /// replica.
    public let consumerSequence: Int
    /// How often it was delivered, this time included: 1 for the first.
    public let deliveredCount: Int
    /// When the stream stored it.
    public let timestamp: Instant
    private let reply: String
    private let connection: BusConnection

    /// The message of a delivery.
    ///
    /// - Parameter reply: The subject that `delivery` was read from, for the acknowledgement.
    init(_ message: BusMessage, _ delivery: Delivery, reply: String, connection: BusConnection) {
        subject = message.subject
        headers = message.headers
        body = message.body
        streamSequence = delivery.streamSequence
        consumerSequence = delivery.consumerSequence
        deliveredCount = delivery.count
        timestamp = delivery.timestamp
        self.reply = reply
        self.connection = connection
    }

    /// Acknowledges the message. If the acknowledgement is lost, the message is delivered again: effects must be idempotent (D5's
    /// inbox).
    public func ack() { send("+ACK") }

    /// Acknowledges the message and waits for the broker's confirmation.
    ///
    /// - Throws: `ServiceError` when the broker does not confirm in time.
    public func ackConfirmed(deadline: Instant) async throws {
        _ = try await connection.request(reply, body: Array("+ACK".utf8), deadline: deadline)
    }

    /// Rejects the message; the broker delivers it again after `delay`.
    public func nak(delay: Interval = .zero) {
        guard delay > .zero else { return send("-NAK") }
        send("-NAK {\"delay\":\(delay.nanoseconds)}")
    }

    /// Rejects the message for good: no more deliveries.
    public func term() { send("+TERM") }

    /// Restarts the time for the acknowledgement.
    public func inProgress() { send("+WPI") }

    private func send(_ verb: String) {
        // A broker that is down delivers the message again: nothing is lost.
        do { try connection.publish(reply, body: Array(verb.utf8)) } catch {
            connection.logger.debug("bus: an acknowledgement was not sent", metadata: ["subject": "\(subject)"])
        }
    }
}

/// The contents of the reply subject of a delivery (ADR-15):
/// `$JS.ACK.<stream>.<consumer>.<count>.<stream seq>.<consumer seq>.<ns>.<pending>`, or with domain and account after `ACK` and perhaps
/// more at the end.
struct Delivery: Equatable {
    let stream: String
    let consumer: String
    let count: Int
    let streamSequence: Int
    let consumerSequence: Int
    let timestamp: Instant

    init?(_ reply: String) {
        let tokens = reply.split(separator: ".", omittingEmptySubsequences: false)
        let base: Int
        switch tokens.count {
        case 9: base = 4
        case 11...: base = 6
        default: return nil
        }
        guard tokens[0] == "$JS", tokens[1] == "ACK", let count = Int(tokens[base]), let sequence = Int(tokens[base + 1]),
            let consumerSequence = Int(tokens[base + 2]), let nanoseconds = Int64(tokens[base + 3])
        else { return nil }
        self.stream = String(tokens[base - 2])
        self.consumer = String(tokens[base - 1])
        self.count = count
        self.streamSequence = sequence
        self.consumerSequence = consumerSequence
        self.timestamp = Instant(microseconds: nanoseconds / 1_000)
    }
}
