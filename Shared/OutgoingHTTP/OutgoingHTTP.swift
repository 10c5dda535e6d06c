public import Kernel
private import FoundationEssentials
private import WorkPool

/// Requests to external servers, by libcurl on a few threads of its own.
///
/// HTTPS only, except to this machine (tests, sidecars) or where the operator allows HTTP. Redirects are not followed: they would
/// lead to a server that is not configured. Time and size of every exchange are bounded.
public final class OutgoingHTTP: Sendable {
    /// A request.
    public struct Request: Sendable {
        /// `GET`, `POST`, …
        public var method: String
        /// An absolute URL.
        public var url: String
        /// Name and value.
        public var headers: [(name: String, value: String)]
        /// Nil: no body.
        public var body: [UInt8]?
        /// A body that is read while it is sent, instead of `body`.
        public var source: (any OutgoingBody)?
        /// Time limit of the whole exchange, with name resolution.
        public var timeout: Interval
        /// Most bytes of the reply's body; a larger one is `tooLarge`.
        public var mostBytes: Int

        /// A request; by default with a limit of 10 s and 1 MiB for the reply.
        public init(
            _ method: String = "GET",
            _ url: String,
            headers: [(name: String, value: String)] = [],
            body: [UInt8]? = nil,
            source: (any OutgoingBody)? = nil,
            timeout: Interval = .seconds(10),
            mostBytes: Int = 1 << 20
        ) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
            self.source = source
            self.timeout = timeout
            self.mostBytes = mostBytes
        }
    }

    /// A reply.
    public struct Reply: Sendable {
        /// The HTTP status, also of an error.
        public let status: Int
        /// Names in lower case and values, in order.
        public let headers: [(name: String, value: String)]
        /// The body, decompressed.
        public let body: [UInt8]

        /// The first header of this name; nil when there is none.
        public func header(_ name: String) -> String? { headers.first { $0.name == name.lowercased() }?.value }
    }

    /// Why an exchange failed.
    public enum Failure: Error, Hashable, Sendable {
        /// Not a URL, or one that is neither HTTPS nor on this machine.
        case notAllowed
        /// An invalid method, header or limit.
        case malformed
        /// The exchange took longer than its limit.
        case timedOut
        /// The reply's body is larger than its limit.
        case tooLarge
        /// Host not found, connection refused, or certificate not trusted: the server has got nothing of the request. With libcurl's
        /// message for the log.
        case notConnected(String)
        /// The connection broke: the server may have got the request. With libcurl's message for the log.
        case unreachable(String)
    }

    private let pool: WorkPool
    private let idle: IdleHandles
    private let allowsPlain: Bool

    /// A client.
    ///
    /// - Parameters:
    ///   - threads: Exchanges at once.
    ///   - queueLimit: Exchanges that may wait; further callers get `UNAVAILABLE`.
    ///   - keepsConnections: Whether connections stay open for the next exchange, at most one for each thread; otherwise each
    ///     exchange has its own.
    ///   - allowsPlain: Whether plain HTTP to other machines is allowed: for a server that the operator configured so.
    public init(threads: Int = 2, queueLimit: Int = 32, keepsConnections: Bool = false, allowsPlain: Bool = false) {
        self.pool = WorkPool(name: "http-out", threads: threads, queueLimit: queueLimit)
        self.idle = IdleHandles(limit: keepsConnections ? threads : 0)
        self.allowsPlain = allowsPlain
    }

    /// Sends a request and waits for its reply.
    ///
    /// - Throws: `Failure`; `UNAVAILABLE` when too many wait; `CancellationError` when the task is cancelled before the exchange
    ///   began.
    public func send(_ request: Request) async throws -> Reply {
        let isLocal = try check(request)
        let mayBePlain = isLocal || allowsPlain
        return try await pool.run { [idle] in
            try Exchange.perform(request, isLocal: isLocal, mayBePlain: mayBePlain, idle: idle)
        }
    }

    /// - Returns: whether the request stays on this machine.
    private func check(_ request: Request) throws(Failure) -> Bool {
        guard let url = URL(string: request.url), let scheme = url.scheme?.lowercased(), let host = url.host, !host.isEmpty else {
            throw .notAllowed
        }
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let isLocal = name.lowercased() == "localhost" || IPAddress(name)?.isLoopback == true
        guard scheme == "https" || (scheme == "http" && (isLocal || allowsPlain)) else { throw .notAllowed }
        guard !request.method.isEmpty, request.method.utf8.allSatisfy({ (65...90).contains($0) }), request.timeout > .zero,
            request.mostBytes >= 0,
            request.headers.allSatisfy({ header in
                !header.name.isEmpty && header.name.utf8.allSatisfy { (33...126).contains($0) && $0 != 58 }
                    && header.value.utf8.allSatisfy { $0 >= 32 && $0 != 127 }
            })
        else { throw .malformed }
        return isLocal
    }
}

/// A body that is read while it is sent, maybe several times from its beginning; its bytes do not change.
public protocol OutgoingBody: Sendable {
    /// In bytes.
    var size: Int64 { get }

    /// Reads bytes from `offset` on, at most as many as fit. It may block.
    ///
    /// - Returns: How many; nil when they cannot be read.
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int?
}
