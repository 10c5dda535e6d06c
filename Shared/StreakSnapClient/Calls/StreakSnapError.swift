/// Everything a call can throw, but for `CancellationError`.
///
/// ```swift
/// do {
///     try await streaksnap.friends.nudge(friendID: friend)
/// } catch let error as StreakSnapError where error.code == .rateLimited {
///     wait(error.retryAfter)
/// }
/// ```
public struct StreakSnapError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Where it went wrong.
    public enum Kind: Sendable, Hashable {
        /// The server has refused the request: `code`, `message` and `details` say why.
        case refused
        /// The server was not reached, or its reply was lost. A change may have been made: the same idempotency key repeats it safely.
        case network
        /// The deadline of ``CallOptions`` has passed.
        case timedOut
        /// There is no session, or it has ended: sign in again.
        case signedOut
        /// The reply is not what this client understands.
        case badReply
        /// A file of the device cannot be read or written.
        case file
    }

    /// One thing that is wrong with a request.
    public struct Detail: Sendable, Hashable {
        /// Path of the field; empty when no single field is to blame.
        public var field: String
        /// What is wrong.
        public var message: String

        /// A detail.
        public init(field: String, message: String) { (self.field, self.message) = (field, message) }
    }

    /// Where it went wrong.
    public var kind: Kind
    /// The server's word for it, the same on every route (`error.reason`); nil when the server has not answered.
    public var code: ErrorCode?
    /// One sentence.
    public var message: String
    /// One entry per thing that is wrong.
    public var details: [Detail]
    /// HTTP status; nil when the server has not answered.
    public var status: Int?
    /// Names the request in the server's logs.
    public var requestID: String?
    /// When trying again makes sense.
    public var retryAfter: Duration?

    /// An error.
    public init(
        kind: Kind,
        code: ErrorCode? = nil,
        message: String,
        details: [Detail] = [],
        status: Int? = nil,
        requestID: String? = nil,
        retryAfter: Duration? = nil
    ) {
        self.kind = kind
        self.code = code
        self.message = message
        self.details = details
        self.status = status
        self.requestID = requestID
        self.retryAfter = retryAfter
    }

    /// Kind or code, message and request id.
    public var description: String {
        let place = details.map { $0.field.isEmpty ? $0.message : "\($0.field): \($0.message)" }.joined(separator: "; ")
        let request = requestID.map { " [request \($0)]" } ?? ""
        return "\(code?.rawValue ?? "\(kind)"): \(message)\(place.isEmpty ? "" : " (\(place))")\(request)"
    }

    /// Whether the same request may succeed later without any change.
    public var isTransient: Bool {
        switch kind {
        case .network, .timedOut: true
        case .refused:
            code == .requestInProgress || code == .requestTimeout || [429, 502, 503, 504].contains(status ?? 0)
                || (status == 500 && code != nil)
        case .signedOut, .badReply, .file: false
        }
    }

    /// Whether the access token was refused, and not what the call asked for: a new one may help.
    var isAboutToken: Bool {
        // Without a code it is no reply of the gateway; older ones say `UNAUTHORIZED` on published routes.
        status == 401 && code.map(Self.tokenCodes.contains) ?? true
    }

    private static let tokenCodes: Set<ErrorCode> = [
        .tokenExpired, .invalidToken, .sessionRevoked, .authenticationRequired, .unauthenticated, .unauthorized,
    ]
}

/// `error.code` of the API. There may be others than the static members: a newer server's.
public struct ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// As the server says it: `ALREADY_POSTED`.
    public let rawValue: String

    /// Any code.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// As the server says it.
    public var description: String { rawValue }

    /// `CHECK_MAIL`: a registration was accepted, and a mail says what comes next (status 202). This client's word for a server that keeps to itself
    /// which addresses have an account: until the link in the mail is used, no user can sign in.
    public static let checkMail = ErrorCode(rawValue: "CHECK_MAIL")
}
