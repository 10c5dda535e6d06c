/// One message as it came from the bus.
public struct BusMessage: Sendable, Equatable {
    /// What it was published to.
    public var subject: String
    /// Where an answer is expected; nil when none is. In a message that arrived it is always an inbox: whoever answers to another
    /// subject lends his rights to who asked.
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

    /// The status of a message made by the broker itself: 404, 408, 409, 503; nil for a message that somebody published.
    var brokerStatus: Int? { headers.isEmpty ? nil : headers["Status"].flatMap { Int($0) } }
}
