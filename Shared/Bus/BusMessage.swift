/// One message as it came from the bus.
public struct BusMessage: Sendable, Equatable {
    /// The subject it was published to.
    public var subject: String
    /// The subject for a reply; nil when none is expected. In a received message it is always an inbox: a reply to another subject
    /// would lend the responder's rights to the requester.
    public var reply: String?
    /// Its headers.
    public var headers: BusHeaders
    /// Its payload.
    public var body: [UInt8]

    /// A message of these parts.
    public init(subject: String, reply: String? = nil, headers: BusHeaders = [:], body: [UInt8] = []) {
        self.subject = subject
        self.reply = reply
        self.headers = headers
        self.body = body
    }

    /// The status of a message made by the broker itself: 404, 408, 409, 503; nil for a published message.
    var brokerStatus: Int? { headers.isEmpty ? nil : headers["Status"].flatMap { Int($0) } }
}
