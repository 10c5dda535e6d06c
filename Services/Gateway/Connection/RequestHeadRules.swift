internal import HTTPServer
internal import Kernel
internal import NIOHTTP1

/// What RFC 9110 and RFC 9112 ask of a request before its body is looked at. Pure.
enum RequestHeadRules {
    /// How a request's body is framed.
    enum Framing: Equatable {
        case length(Int)
        case chunked
    }

    /// What the rest of the connection must know of a request.
    struct Facts: Equatable {
        var isHead = false
        var isHTTP10 = false
        /// Whether the client wants the connection kept, and nothing forbids it.
        var keepsAlive = true
        /// The client waits for `100 Continue` before it sends the body.
        var awaitsContinue = false
        var framing = Framing.length(0)
    }

    /// The facts of a request, or why it is refused.
    ///
    /// - Throws: `MALFORMED_REQUEST`, `UNSUPPORTED_TRANSFER_ENCODING`, `EXPECTATION_FAILED`.
    static func facts(_ head: HTTPRequestHead) throws(ServiceError) -> Facts {
        var seen = Seen()
        for (name, value) in head.headers { seen.note(name, value) }
        let isHTTP10 = head.version.minor == 0
        try checkHost(seen.hosts, isRequired: !isHTTP10)
        var facts = Facts(isHead: head.method == .HEAD, isHTTP10: isHTTP10, keepsAlive: head.isKeepAlive)
        // The parser reads nothing after a request that asks for another protocol.
        if head.method == .CONNECT || seen.wantsUpgrade { facts.keepsAlive = false }
        if let encoding = seen.transferEncoding {
            guard !isHTTP10 else { throw malformed("HTTP/1.0 has no Transfer-Encoding") }
            guard encoding.lowercased() == "chunked" else {
                throw ServiceError(
                    .unimplemented,
                    "UNSUPPORTED_TRANSFER_ENCODING",
                    "The only transfer encoding that is understood is chunked."
                )
            }
            facts.framing = .chunked
        } else if let length = seen.contentLength {
            guard let bytes = Int(length) else { throw malformed("Content-Length is too large") }
            facts.framing = .length(bytes)
        }
        if let expectation = seen.expectation, !isHTTP10 {
            guard expectation.lowercased() == "100-continue" else {
                throw ServiceError(.invalidArgument, "EXPECTATION_FAILED", "The only expectation understood is 100-continue.")
            }
            facts.awaitsContinue = facts.framing != .length(0)
        }
        return facts
    }

    /// A request that is no correct HTTP.
    static func malformed(_ problem: String) -> ServiceError {
        ServiceError(.invalidArgument, "MALFORMED_REQUEST", "The request is not correct HTTP: \(problem).")
    }

    /// The answer to what is no request, or does not become one; nil for an error that says nothing about that.
    static func refusal(of error: any Error) -> ServiceError? {
        switch error {
        case let error as HTTPParserError: refusal(error)
        case HTTPHeadError.tooLarge: tooLarge
        case HTTPHeadError.tooSlow:
            ServiceError(.deadlineExceeded, "REQUEST_TIMEOUT", "The head of the request took too long to arrive.")
        case HTTPHeadError.tooMany: .unavailable("The server is busy.")
        default: nil
        }
    }

    private static let tooLarge = ServiceError(
        .invalidArgument,
        "HEADERS_TOO_LARGE",
        "The headers are too large, or there are too many."
    )

    /// What the parser refused.
    static func refusal(_ error: HTTPParserError) -> ServiceError {
        switch error {
        case .headerOverflow: tooLarge
        case .invalidVersion:
            ServiceError(.unimplemented, "HTTP_VERSION_NOT_SUPPORTED", "Send HTTP/1.1 or HTTP/1.0.")
        case .invalidChunkSize: malformed("a chunk's size cannot be read")
        case .invalidContentLength: malformed("Content-Length is no number")
        case .unexpectedContentLength: malformed("Content-Length comes twice, or together with Transfer-Encoding")
        case .invalidEOFState: malformed("it ends too early")
        case .invalidMethod: malformed("the method is not known")
        case .invalidURL: malformed("the target cannot be read")
        case .invalidHeaderToken: malformed("a header cannot be read")
        default: malformed("it cannot be read")
        }
    }

    /// RFC 9112 §3.2: exactly one, and a correct one; HTTP/1.0 did not know it yet.
    private static func checkHost(_ hosts: [String], isRequired: Bool) throws(ServiceError) {
        guard hosts.count <= 1 else { throw malformed("Host comes more than once") }
        guard let host = hosts.first else {
            if isRequired { throw malformed("Host is missing") }
            return
        }
        guard isHost(host) else { throw malformed("Host is no host name or address") }
    }

    /// RFC 3986 §3.2.2, not empty: a name or IPv4 address, or an IPv6 address in brackets; a port may follow.
    static func isHost(_ text: String) -> Bool {
        var bytes = Array(text.utf8)[...]
        if bytes.first == UInt8(ascii: "[") {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let address = bytes[bytes.index(after: bytes.startIndex)..<end]
            guard !address.isEmpty, address.allSatisfy({ $0.isHexDigit || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
            else { return false }
            bytes = bytes[bytes.index(after: end)...]
        } else {
            let name = bytes.prefix { $0.isNameByte }
            guard !name.isEmpty else { return false }
            bytes = bytes[name.endIndex...]
        }
        guard let colon = bytes.popFirst() else { return true }
        return colon == UInt8(ascii: ":") && bytes.count <= 5 && bytes.allSatisfy { (48...57).contains($0) }
    }

    /// The headers that count here, found in one pass.
    private struct Seen {
        var hosts: [String] = []
        var transferEncoding: String?
        var contentLength: String?
        var expectation: String?
        private var hasUpgrade = false
        private var connectionSaysUpgrade = false

        var wantsUpgrade: Bool { hasUpgrade && connectionSaysUpgrade }

        mutating func note(_ name: String, _ value: String) {
            // Most headers are none of these: their length says so.
            switch name.utf8.count {
            case 4 where name.lowercased() == "host": hosts.append(value)
            case 6 where name.lowercased() == "expect": Self.join(value, to: &expectation)
            case 7 where name.lowercased() == "upgrade": hasUpgrade = true
            case 10 where name.lowercased() == "connection":
                if value.lowercased().contains("upgrade") { connectionSaysUpgrade = true }
            case 14 where name.lowercased() == "content-length": contentLength = value
            case 17 where name.lowercased() == "transfer-encoding": Self.join(value, to: &transferEncoding)
            default: break
            }
        }

        private static func join(_ value: String, to list: inout String?) {
            list = list.map { "\($0), \(value)" } ?? value
        }
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool { (48...57).contains(self) || (65...70).contains(self) || (97...102).contains(self) }

    /// `unreserved`, `sub-delims` and `%` of RFC 3986.
    fileprivate var isNameByte: Bool {
        switch self {
        case 48...57, 65...90, 97...122: true
        default: "-._~%!$&'()*+,;=".utf8.contains(self)
        }
    }
}
