internal import Bus
public import Kernel

/// An event as it lies in an outbox or a retry queue and travels on the bus.
public struct StoredEvent: Sendable {
    /// Unique; also the `Nats-Msg-Id`, until the event is replayed.
    public let id: EventID
    /// What it is about: events of one aggregate keep their order.
    public let aggregate: String
    /// `evt.<service>.v1.<Message>`.
    public let subject: String
    /// The W3C trace context of the request that caused it.
    public let trace: String
    /// The id of the request that caused it.
    public let requestID: String
    /// The protobuf message.
    public let body: [UInt8]

    static let aggregateHeader = "event-aggregate"
    static let idHeader = "event-id"

    var headers: BusHeaders {
        [Self.idHeader: id.description, Self.aggregateHeader: aggregate, "traceparent": trace, "request-id": requestID]
    }

    init(id: EventID, aggregate: String, subject: String, trace: String, requestID: String, body: [UInt8]) {
        self.id = id
        self.aggregate = aggregate
        self.subject = subject
        self.trace = trace
        self.requestID = requestID
        self.body = body
    }

    /// The event in a message of a stream; nil when it carries no event id (it was not published by an outbox).
    init?(_ message: StreamMessage) {
        guard let id = (message.headers[Self.idHeader] ?? message.headers["Nats-Msg-Id"]).flatMap({ EventID($0) }) else {
            return nil
        }
        self.init(
            id: id,
            aggregate: message.headers[Self.aggregateHeader] ?? "",
            subject: message.subject,
            trace: message.headers["traceparent"] ?? "",
            requestID: message.headers["request-id"] ?? "",
            body: message.body
        )
    }
}
