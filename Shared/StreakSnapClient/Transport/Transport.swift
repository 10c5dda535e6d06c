public import Foundation

/// Sends HTTP requests. The client's own uses `URLSession`; give another for tests, or to send by other means.
public protocol Transport: Sendable {
    /// Sends a request and waits for the whole reply, whatever its status. The task's cancellation ends the request.
    ///
    /// - Throws: ``StreakSnapError`` of kind `network` when there is no reply, `CancellationError`.
    func send(_ request: TransportRequest) async throws -> TransportReply

    /// Sends a request and gives the reply's body piece by piece.
    func open(_ request: TransportRequest) async throws -> TransportStream
}

/// One HTTP request.
public struct TransportRequest: Sendable {
    /// Where it goes.
    public var url: URL
    /// GET, POST, PUT, PATCH or DELETE.
    public var verb: String
    /// Header fields.
    public var headers: [String: String]
    /// The body.
    public var body: TransportBody
    /// The longest silence of the server.
    public var silence: Duration
    /// Where the body of a success is written; nil to have it in memory.
    public var destination: URL?
    /// Called as the body is sent.
    public var progress: UploadProgress.Handler?

    /// A request.
    public init(
        url: URL,
        verb: String,
        headers: [String: String] = [:],
        body: TransportBody = .none,
        silence: Duration = .seconds(60),
        destination: URL? = nil,
        progress: UploadProgress.Handler? = nil
    ) {
        self.url = url
        self.verb = verb
        self.headers = headers
        self.body = body
        self.silence = silence
        self.destination = destination
        self.progress = progress
    }
}

/// The body of a request.
public enum TransportBody: Sendable, Hashable {
    /// No body.
    case none
    /// Bytes in memory.
    case data(Data)
    /// A file, read as it is sent.
    case file(URL)
}

/// One HTTP reply.
public struct TransportReply: Sendable {
    /// HTTP status.
    public var status: Int
    /// Header fields, their names in lower case.
    public var headers: [String: String]
    /// The body, when it was not written to a file.
    public var body: Data
    /// Where it was written.
    public var file: URL?

    /// A reply.
    public init(status: Int, headers: [String: String] = [:], body: Data = Data(), file: URL? = nil) {
        (self.status, self.headers, self.body, self.file) = (status, headers, body, file)
    }
}

/// A reply whose body comes piece by piece.
public struct TransportStream: Sendable {
    /// HTTP status.
    public var status: Int
    /// Header fields, their names in lower case.
    public var headers: [String: String]
    /// The body. Ending the loop over it ends the request.
    public var pieces: AsyncThrowingStream<Data, any Error>

    /// A reply.
    public init(status: Int, headers: [String: String], pieces: AsyncThrowingStream<Data, any Error>) {
        (self.status, self.headers, self.pieces) = (status, headers, pieces)
    }
}
