internal import Bus
internal import HTTPServer
internal import Kernel
internal import NIOCore
internal import NIOHTTP1
internal import Runtime
internal import Transcoding

/// What identifies one request in logs, traces and replies (PF-6).
struct Exchange: Sendable {
    let requestID: String
    /// The span of this request.
    let trace: TraceContext
    /// The client's span, when it said so.
    let parent: TraceContext?

    init(_ request: HTTPRequest, ids: any IDSource, tracer: Tracer) {
        self.requestID = Self.requestID(request.headers[field: "X-Request-Id"], ids)
        self.parent = request.headers[field: "traceparent"].flatMap { TraceContext(traceparent: $0) }
        self.trace = parent?.child() ?? tracer.root()
    }

    /// The client's own id when it is usable, otherwise a new one.
    static func requestID(_ sent: String?, _ ids: any IDSource) -> String {
        if let sent, isUsable(sent) { return sent }
        let id: OperationID = ids.make()
        return id.description
    }

    /// Visible ASCII without anything a log or a header could trip over.
    private static func isUsable(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || byte == 45 || byte == 95
                    || byte == 46
            }
    }

    /// A reply with the request's id.
    func response(status: Int, contentType: String, bytes: [UInt8]) -> HTTPResponse {
        response(status: status, contentType: contentType, body: ByteBuffer(bytes: bytes))
    }

    /// The same with bytes that many replies share.
    func response(status: Int, contentType: String, body: ByteBuffer) -> HTTPResponse {
        HTTPResponse(
            HTTPResponseStatus(statusCode: status),
            ["Content-Type": contentType, "X-Request-Id": requestID],
            .bytes(body)
        )
    }

    /// The error envelope (PF-1) with the headers that belong to the error.
    ///
    /// - Parameter isExact: for a route whose bodies follow a published interface.
    func failure(_ error: ServiceError, isExact: Bool = false) -> HTTPResponse {
        var response = response(
            status: Self.status(of: error),
            contentType: Self.json,
            bytes: ErrorEnvelope.json(error, requestID: requestID, isExact: isExact)
        )
        response.headers.describe(error)
        return response
    }

    /// 405 with the methods that the path takes (RFC 9110 §15.5.6).
    func methodNotAllowed(_ allow: [String], near route: String? = nil) -> HTTPResponse {
        let list = allow.joined(separator: ", ")
        let meant = route.map { " Did you mean \($0)?" } ?? ""
        var response = failure(ServiceError(.unimplemented, "METHOD_NOT_ALLOWED", "This path takes \(list).\(meant)"))
        response.headers.add(name: "Allow", value: list)
        return response
    }

    /// PF-2's mapping, with the statuses HTTP has for bodies and paths that no RPC sees.
    static func status(of error: ServiceError) -> Int {
        switch error.reason {
        case "FILE_TOO_LARGE", "BODY_TOO_LARGE", "PAYLOAD_TOO_LARGE": 413
        case "UNSUPPORTED_MEDIA_TYPE", "UNSUPPORTED_CONTENT_ENCODING": 415
        case "RANGE_NOT_SATISFIABLE": 416
        case "REQUEST_TIMEOUT": 408
        case "METHOD_NOT_ALLOWED": 405
        case "EXPECTATION_FAILED": 417
        case "HEADERS_TOO_LARGE": 431
        case "HTTP_VERSION_NOT_SUPPORTED": 505
        default: ErrorEnvelope.httpStatus(error.code)
        }
    }

    static let json = "application/json; charset=utf-8"
}

extension HTTPHeaders {
    /// What a failure says in headers: on every 429 and 503, and where the error says it, after how many seconds to try again; on every 401
    /// how to authenticate; which coding of a body is understood.
    mutating func describe(_ error: ServiceError) {
        let isLater = [429, 503].contains(Exchange.status(of: error))
        if let seconds = error.retryAfter ?? (isLater ? 1 : nil) { add(name: "Retry-After", value: String(seconds)) }
        if error.code == .unauthenticated { add(name: "WWW-Authenticate", value: ErrorEnvelope.challenge(error)) }
        if error.reason == "UNSUPPORTED_CONTENT_ENCODING" { add(name: "Accept-Encoding", value: "gzip") }
    }
}

extension HTTPResponse {
    /// PF-5: how many requests the caller can make at once, has left, and in how many seconds all of them are there again.
    mutating func add(_ allowance: Allowance) {
        headers.add(name: "RateLimit-Limit", value: String(allowance.limit))
        headers.add(name: "RateLimit-Remaining", value: String(allowance.remaining))
        headers.add(name: "RateLimit-Reset", value: String(allowance.reset))
    }

    /// Forbids caches to keep a reply that is one caller's own, or a failure, unless its route says itself how it may be kept (RFC 9111
    /// §5.2.2.5). Tokens travel in replies of routes that take no credential, so every reply in the envelope counts.
    mutating func forbidStoring(to request: HTTPRequest, of route: Route?) {
        guard !headers.contains(name: "Cache-Control") else { return }
        let isEnvelope = route.map { !$0.policy.bare && $0.policy.body == nil } ?? false
        guard isEnvelope || status.code >= 400 || request.headers.contains(name: "Authorization") else { return }
        headers.add(name: "Cache-Control", value: "no-store")
    }
}
