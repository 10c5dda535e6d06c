public import NIOCore
public import NIOHTTP1

/// The reply to a request.
public struct HTTPResponse: Sendable {
    /// What follows the head. To HEAD, and with statuses that have no body, nothing does.
    public enum Body: Sendable {
        /// Bytes that are there.
        case bytes(ByteBuffer)
        /// What the closure writes before it returns; as many bytes as `length` says, in chunks when that is nil. When it throws, the
        /// connection ends, so that no one takes what came for all of it.
        case writer(length: Int?, @Sendable (HTTPBodyWriter) async throws -> Void)
        /// What another handler writes, which the closure puts in place of those of requests. It is the connection's last reply. Called on
        /// the connection's event loop when the head is written.
        case handOver(@Sendable (any Channel) -> Void)
    }

    /// The status.
    public var status: HTTPResponseStatus
    /// The headers. Those about the connection, and `Date`, are added when it is sent.
    public var headers: HTTPHeaders
    /// The body.
    public let body: Body

    /// A reply. `Content-Length` is added when the length is known and not among the headers.
    public init(_ status: HTTPResponseStatus, _ headers: HTTPHeaders = [:], _ body: Body = .bytes(ByteBuffer())) {
        (self.status, self.headers, self.body) = (status, headers, body)
        let length: Int?
        switch body {
        case .bytes(let bytes): length = bytes.readableBytes
        case .writer(let known, _): length = known
        case .handOver: length = nil
        }
        guard let length, status.mayHaveResponseBody, !headers.contains(name: "Content-Length") else { return }
        self.headers.add(name: "Content-Length", value: String(length))
    }

    /// A reply of text.
    public init(_ status: HTTPResponseStatus, _ headers: HTTPHeaders = [:], _ text: String) {
        self.init(status, headers, .bytes(ByteBuffer(string: text)))
    }
}

/// Writes the body of one reply.
public struct HTTPBodyWriter: Sendable {
    let place: HTTPRequests.Place

    /// Writes bytes, and waits until the connection takes more.
    ///
    /// - Throws: `ChannelError` when the connection has ended.
    public func write(_ bytes: ByteBuffer) async throws {
        try await withCheckedThrowingContinuation { continuation in
            place.run { $0.write(bytes, continuation, $1) }
        }
    }
}
