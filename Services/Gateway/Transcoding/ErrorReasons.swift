/// What a route may answer as `error.code`: what its method declares (`reasons`), and what the gateway and every service's runtime may
/// refuse before a handler sees the request.
enum ErrorReasons {
    /// Of every route, the gateway's own too.
    static let always = ["DEADLINE_EXCEEDED", "INTERNAL", "RATE_LIMITED", "UNAVAILABLE", "VALIDATION_ERROR"] + connection
    /// Of what is no correct HTTP, or none that is understood.
    static let connection = [
        "EXPECTATION_FAILED", "HEADERS_TOO_LARGE", "HTTP_VERSION_NOT_SUPPORTED", "MALFORMED_REQUEST",
        "REQUEST_TIMEOUT", "UNSUPPORTED_TRANSFER_ENCODING",
    ]
    /// Where a path has parameters.
    static let path = ["MALFORMED_PATH"]
    /// Where the caller must be signed in.
    static let signedIn = ["AUTHENTICATION_REQUIRED", "UNAUTHENTICATED"] + accessToken
    /// The access token that was sent is not good (any more): RFC 6750's `invalid_token`.
    static let accessToken = ["INVALID_TOKEN", "SESSION_REVOKED", "TOKEN_EXPIRED"]
    /// The code of all these where bodies follow a published interface (`exact`); `error.reason` says which.
    static let signedInExactly = ["UNAUTHORIZED"]
    static let noGuests = ["GUEST_NOT_ALLOWED"]
    static let administrators = ["ADMIN_ONLY", "SECOND_FACTOR_ENROLMENT_REQUIRED"]
    /// Where there is a body.
    static let body = [
        "BODY_TOO_LARGE", "MALFORMED_BODY", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_CONTENT_ENCODING", "UNSUPPORTED_MEDIA_TYPE",
    ]
    /// Where the body is not read.
    static let rawBody = ["BODY_TOO_LARGE", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_CONTENT_ENCODING"]
    /// Where requests are counted.
    static let limits = ["RATE_LIMITED"]
    static let upload = [
        "FILE_TOO_LARGE", "MALFORMED_UPLOAD", "PAYLOAD_TOO_LARGE", "STORAGE_DENIED", "STORAGE_FULL",
        "STORAGE_UNAVAILABLE", "UNSUPPORTED_CONTENT_ENCODING", "UNSUPPORTED_MEDIA_TYPE",
    ]
    /// Where an `Idempotency-Key` is taken (PF-4).
    static let key = ["IDEMPOTENCY_KEY_REUSED", "REQUEST_IN_PROGRESS"]
    /// Where the reply may be a stored file.
    static let file = ["NOT_FOUND", "RANGE_NOT_SATISFIABLE", "STORAGE_DENIED", "STORAGE_UNAVAILABLE"]
    /// Of a file that is sent by a presigned link.
    static let sentFile = ["FILE_MISMATCH"]
    /// Of a signed link.
    static let link = ["LINK_EXPIRED"]
}

extension Route {
    /// Every `error.code` that this route may answer, sorted.
    var reasons: [String] {
        var all = Set(ErrorReasons.always + policy.reasons)
        if !pattern.variables.isEmpty { all.formUnion(ErrorReasons.path) }
        switch policy.auth {
        case .none, .secret, .internal: break
        case .guest: all.formUnion(signedIn)
        case .user: all.formUnion(signedIn + ErrorReasons.noGuests)
        case .admin: all.formUnion(signedIn + ErrorReasons.noGuests + ErrorReasons.administrators)
        }
        if !policy.uploads.isEmpty {
            all.formUnion(ErrorReasons.upload + (takesJSON ? ErrorReasons.body : []))
        } else if policy.raw != nil {
            all.formUnion(ErrorReasons.rawBody)
        } else if verb != "GET" {
            all.formUnion(ErrorReasons.body)
        }
        if policy.unlimited { all.subtract(ErrorReasons.limits) }
        if takesKey { all.formUnion(ErrorReasons.key) }
        if policy.body?.blobField.isEmpty == false { all.formUnion(ErrorReasons.file) }
        return all.sorted()
    }

    private var signedIn: [String] { policy.exact ? ErrorReasons.signedInExactly : ErrorReasons.signedIn }

    /// Whether a repeat with the same `Idempotency-Key` gets the first answer (PF-4).
    var takesKey: Bool { verb != "GET" }

    /// Whether it is one of a method's additional bindings: kept for older clients.
    var isAlias: Bool { descriptor.bindings.first != binding }
}
