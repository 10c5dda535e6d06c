internal import Bus
internal import HTTPTypes
internal import Hummingbird
internal import Kernel
internal import Runtime
internal import Transcoding

/// What identifies one request in logs, traces and replies (PF-6).
struct Exchange: Sendable {
    let requestID: String
    /// The span of this request.
    let trace: TraceContext
    /// The client's span, when it said so.
    let parent: TraceContext?

    init(_ request: Request, ids: any IDSource, tracer: Tracer) {
        self.requestID = Self.requestID(request.headers[.requestID], ids)
        self.parent = request.headers[.traceparent].flatMap { TraceContext(traceparent: $0) }
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
    func response(status: Int, contentType: String, bytes: [UInt8]) -> Response {
        response(status: status, contentType: contentType, body: ByteBuffer(bytes: bytes))
    }

    /// The same with bytes that many replies share.
    func response(status: Int, contentType: String, body: ByteBuffer) -> Response {
        Response(
            status: HTTPResponse.Status(code: status),
            headers: [.contentType: contentType, .requestID: requestID],
            body: .init(byteBuffer: body)
        )
    }

    /// The error envelope (PF-1), with `Retry-After` when the error says when.
    ///
    /// - Parameter isExact: for a route whose bodies follow a published interface.
    func failure(_ error: ServiceError, isExact: Bool = false) -> Response {
        var response = response(
            status: Self.status(of: error),
            contentType: Self.json,
            bytes: ErrorEnvelope.json(error, requestID: requestID, isExact: isExact)
        )
        if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        if error.code == .unauthenticated { response.headers[.wwwAuthenticate] = "Bearer" }
        if error.reason == "UNSUPPORTED_CONTENT_ENCODING" { response.headers[.acceptEncoding] = "gzip" }
        return response
    }

    /// PF-2's mapping, with the statuses HTTP has for bodies and paths that no RPC sees.
    static func status(of error: ServiceError) -> Int {
        switch error.reason {
        case "FILE_TOO_LARGE", "BODY_TOO_LARGE": 413
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

extension Response {
    /// PF-5: how many requests the caller can make at once, has left, and in how many seconds all of them are there again.
    mutating func add(_ allowance: Allowance) {
        headers[.rateLimitLimit] = String(allowance.limit)
        headers[.rateLimitRemaining] = String(allowance.remaining)
        headers[.rateLimitReset] = String(allowance.reset)
    }
}

extension HTTPField.Name {
    private static func known(_ name: String) -> HTTPField.Name { HTTPField.Name(name) ?? .accept }
    /// PF-6.
    static let requestID = known("X-Request-Id")
    /// W3C Trace Context.
    static let traceparent = known("traceparent")
    /// PF-5.
    static let rateLimitLimit = known("RateLimit-Limit")
    static let rateLimitRemaining = known("RateLimit-Remaining")
    static let rateLimitReset = known("RateLimit-Reset")
    /// PF-4.
    static let idempotencyKey = known("Idempotency-Key")
    /// What proxies append the address of their client to.
    static let forwardedFor = known("X-Forwarded-For")
}
