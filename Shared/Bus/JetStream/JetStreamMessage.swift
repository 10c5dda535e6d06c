public import Kernel

/// A message of a stream as a consumer receives it.
public struct JetStreamMessage: Sendable {
    /// The subject it was published to.
    public let subject: String
    /// Its headers; none when the consumer does not need messages of its subject.
    public let headers: BusHeaders
    /// Its payload; empty when the consumer does not need messages of its subject.
    public let body: [UInt8]
    /// Its sequence number in the stream.
    public let streamSequence: Int
    /// The number of this delivery among all of its durable consumer. A gap means that deliveries were lost, or went to another
    /// replica.
    public let consumerSequence: Int
    /// When the stream stored it.
    public let timestamp: Instant

    /// The message of a delivery.
    init(_ message: BusMessage, _ delivery: Delivery) {
        subject = message.subject
        headers = message.headers
        body = message.body
        streamSequence = delivery.streamSequence
        consumerSequence = delivery.consumerSequence
        timestamp = delivery.timestamp
    }
}

/// The contents of the reply subject of a delivery (ADR-15):
/// `$JS.ACK.<stream>.<consumer>.<count>.<stream seq>.<consumer seq>.<ns>.<pending>`, or with domain and account after `ACK` and perhaps
/// more at the end.
struct Delivery: Equatable {
    let stream: Substring
    let consumer: Substring
    let streamSequence: Int
    let consumerSequence: Int
    let timestamp: Instant

    init?(_ reply: String) {
        // By bytes: splitting by characters costs more than all the rest of a delivery.
        let tokens = reply.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { Substring($0) }
        let base: Int
        switch tokens.count {
        case 9: base = 4
        case 11...: base = 6
        default: return nil
        }
        guard tokens[0] == "$JS", tokens[1] == "ACK", Int(tokens[base]) != nil, let sequence = Int(tokens[base + 1]),
            let consumerSequence = Int(tokens[base + 2]), let nanoseconds = Int64(tokens[base + 3])
        else { return nil }
        (stream, consumer) = (tokens[base - 2], tokens[base - 1])
        streamSequence = sequence
        self.consumerSequence = consumerSequence
        timestamp = Instant(microseconds: nanoseconds / 1_000)
    }
}
