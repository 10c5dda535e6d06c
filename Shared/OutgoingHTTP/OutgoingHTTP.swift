public import Kernel
private import FoundationEssentials
private import WorkPool

/// Requests to servers of others, by libcurl on a few threads of its own.
///
/// HTTPS only, except to this machine (tests, sidecars) or where the operator chose otherwise. Redirects are not followed: they would lead to a server that nobody named.
/// Time and size of every exchange are bounded.
public final class OutgoingHTTP: Sendable {
    /// What is asked.
    public struct Request: Sendable {
        /// `GET`, `POST`, …
        public var method: String
        /// An absolute URL.
        public var url: String
        /// Name and value.
        public var headers: [(name: String, value: String)]
        /// Nil sends none.
        public var body: [UInt8]?
        /// A body that is read while it is sent, instead of `body`.
        public var source: (any OutgoingBody)?
        /// For the whole exchange, finding the server included.
        public var timeout: Interval
        /// Most bytes of the reply's body; more is `tooLarge`.
        public var mostBytes: Int

        /// A request; by default it may take 10 s and its reply 1 MiB.
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

    /// What was answered.
    public struct Reply: Sendable {
        /// The HTTP status, whatever it is.
        public let status: Int
        /// Names in lower case and values, in order.
        public let headers: [(name: String, value: String)]
        /// The body, decompressed.
        public let body: [UInt8]

        /// The first header of this name; nil when there is none.
        public func header(_ name: String) -> String? { headers.first { $0.name == name.lowercased() }?.value }
    }

    /// Why there is no reply.
    public enum Failure: Error, Hashable, Sendable {
        /// No URL, or one that is neither HTTPS nor on this machine.
        case notAllowed
        /// A method, header or limit that makes no sense.
        case malformed
        /// The exchange took longer than it may.
        case timedOut
        /// The reply's body is larger than it may be.
        case tooLarge
        /// Not found, refused, broken off, or a certificate that is not to be trusted; libcurl's words for the log.
        case unreachable(String)
    }

    private let pool: WorkPool
    private let idle: IdleHandles
    private let allowsPlain: Bool

    /// A client.
    ///
    /// - Parameters:
    ///   - threads: Exchanges at once.
    ///   - queueLimit: Exchanges that may wait; beyond it callers get `UNAVAILABLE`.
    ///   - keepsConnections: Whether connections stay open for the next exchange, one a thread at most; otherwise each has its own.
    ///   - allowsPlain: Whether plain HTTP may go to other machines too: for a server that the operator named so.
    public init(threads: Int = 2, queueLimit: Int = 32, keepsConnections: Bool = false, allowsPlain: Bool = false) {
        self.pool = WorkPool(name: "http-out", threads: threads, queueLimit: queueLimit)
        self.idle = IdleHandles(limit: keepsConnections ? threads : 0)
        self.allowsPlain = allowsPlain
    }

    /// Sends a request and waits for the reply.
    ///
    /// - Throws: `Failure`; `UNAVAILABLE` when too many wait; `CancellationError` when the task is cancelled before it began.
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

/// A body that is read while it is sent, maybe more than once and from its beginning again; its bytes do not change.
public protocol OutgoingBody: Sendable {
    /// In bytes.
    var size: Int64 { get }

    /// Up to as many bytes as there is room for, from `offset` on, on a thread that may be blocked.
    ///
    /// - Returns: How many; nil when they cannot be read.
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int?
}
