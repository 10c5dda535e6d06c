public import Kernel
private import FoundationEssentials
private import WorkPool

/// Requests to servers of others, by libcurl on a few threads of its own.
///
/// HTTPS only, except to this machine (tests, sidecars). Redirects are not followed: they would lead to a server that nobody named.
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
            timeout: Interval = .seconds(10),
            mostBytes: Int = 1 << 20
        ) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
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

    /// A client.
    ///
    /// - Parameters:
    ///   - threads: Exchanges at once.
    ///   - queueLimit: Exchanges that may wait; beyond it callers get `UNAVAILABLE`.
    public init(threads: Int = 2, queueLimit: Int = 32) {
        self.pool = WorkPool(name: "http-out", threads: threads, queueLimit: queueLimit)
    }

    /// Sends a request and waits for the reply.
    ///
    /// - Throws: `Failure`; `UNAVAILABLE` when too many wait; `CancellationError` when the task is cancelled before it began.
    public func send(_ request: Request) async throws -> Reply {
        let isLocal = try Self.check(request)
        return try await pool.run { try Exchange.perform(request, isLocal: isLocal) }
    }

    /// - Returns: whether the request stays on this machine.
    private static func check(_ request: Request) throws(Failure) -> Bool {
        guard let url = URL(string: request.url), let scheme = url.scheme?.lowercased(), let host = url.host, !host.isEmpty else {
            throw .notAllowed
        }
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let isLocal = name.lowercased() == "localhost" || IPAddress(name)?.isLoopback == true
        guard scheme == "https" || (scheme == "http" && isLocal) else { throw .notAllowed }
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
