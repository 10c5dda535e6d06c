/// A refusal that a caller may see: a closed code, a stable reason and a message safe to show.
///
/// Domain rules throw it, the bus carries it, the gateway maps it to HTTP (PF-2). Anything else that is thrown inside a service
/// reaches callers as `INTERNAL` without detail.
public struct ServiceError: Error, Hashable, Sendable {
    /// The gRPC status codes (google.rpc.Code).
    public enum Code: Int32, Sendable, CaseIterable {
        case cancelled = 1
        case unknown = 2
        case invalidArgument = 3
        case deadlineExceeded = 4
        case notFound = 5
        case alreadyExists = 6
        case permissionDenied = 7
        case resourceExhausted = 8
        case failedPrecondition = 9
        case aborted = 10
        case outOfRange = 11
        case unimplemented = 12
        case `internal` = 13
        case unavailable = 14
        case dataLoss = 15
        case unauthenticated = 16
    }

    /// One thing that is wrong with a request.
    public struct Detail: Hashable, Sendable {
        /// The field's path in the request, `streak_ids[2]`; empty when no single field is to blame.
        public var field: String
        /// What is wrong, for a developer to read.
        public var message: String

        /// A detail about `field`.
        public init(field: String, message: String) {
            self.field = field
            self.message = message
        }
    }

    /// What kind of failure this is; decides the HTTP status.
    public var code: Code
    /// A stable upper-case word a client can act on: `STREAK_NOT_ACTIVE`. Becomes `error.code` of the public API.
    public var reason: String
    /// One English sentence, safe to show.
    public var message: String
    /// One entry per thing that is wrong.
    public var details: [Detail]
    /// Seconds after which a retry makes sense; becomes `Retry-After`.
    public var retryAfter: Int?

    /// An error a caller may see.
    public init(_ code: Code, _ reason: String, _ message: String, details: [Detail] = [], retryAfter: Int? = nil) {
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retryAfter = retryAfter
    }

    /// `VALIDATION_ERROR` about one field.
    public static func validation(field: String, _ message: String) -> ServiceError {
        validation([Detail(field: field, message: message)])
    }

    /// `VALIDATION_ERROR` about several fields.
    public static func validation(_ details: [Detail]) -> ServiceError {
        ServiceError(.invalidArgument, "VALIDATION_ERROR", "The request has invalid fields.", details: details)
    }

    /// `NOT_FOUND`: it does not exist, or the caller may not know that it exists (PF-2).
    public static func notFound(_ what: String) -> ServiceError {
        ServiceError(.notFound, "NOT_FOUND", "There is no such \(what).")
    }

    /// The reason of `quotaExceeded`.
    public static let quotaReason = "QUOTA_EXCEEDED"

    /// `QUOTA_EXCEEDED`: the user has as much of something as one account can have (D22). Waiting does not help: something has to be deleted.
    ///
    /// - Parameters:
    ///   - what: what there is too much of, in the plural.
    ///   - most: the limit.
    ///   - remedy: a sentence that says what to delete.
    public static func quotaExceeded(_ what: String, most: Int, remedy: String) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            quotaReason,
            "You have \(most) \(what), as many as one account can have. \(remedy)"
        )
    }

    /// `QUOTA_EXCEEDED` for much that comes at once and is taken as a whole or not at all.
    ///
    /// - Parameters:
    ///   - what: what there is too much of, in the plural.
    ///   - added: how many come.
    ///   - room: how many would fit.
    ///   - most: the limit.
    ///   - remedy: a sentence that says what to delete.
    public static func quotaExceeded(_ what: String, adding added: Int, room: Int, most: Int, remedy: String) -> ServiceError {
        ServiceError(
            .failedPrecondition,
            quotaReason,
            "This brings \(added) \(what), and there is room for \(room): one account can have \(most). \(remedy)"
        )
    }

    /// `UNAVAILABLE`: no service replica can answer now. A retry is safe for idempotent methods.
    public static func unavailable(_ message: String = "The service is not available right now.") -> ServiceError {
        ServiceError(.unavailable, "UNAVAILABLE", message, retryAfter: 1)
    }

    /// `REQUEST_IN_PROGRESS`: an earlier sending of this request, or another request with its key, has not ended.
    public static let requestInProgress = ServiceError(
        .aborted,
        "REQUEST_IN_PROGRESS",
        "The first request with this key has not ended.",
        retryAfter: 1
    )

    /// Whether it is `requestInProgress`.
    public var isInProgress: Bool { code == .aborted && reason == Self.requestInProgress.reason }

    /// `SESSION_REVOKED`: the caller's session, or account, has ended. Gateways say so once they know; for a moment a service finds it out.
    public static let sessionRevoked = ServiceError(
        .unauthenticated,
        "SESSION_REVOKED",
        "This session has ended: sign in again."
    )

    /// `DEADLINE_EXCEEDED`: the answer did not come in time.
    public static let deadlineExceeded = ServiceError(.deadlineExceeded, "DEADLINE_EXCEEDED", "The request took too long.")

    /// `INTERNAL`: something failed that the caller cannot fix. Only the service's log has the cause.
    public static let `internal` = ServiceError(.internal, "INTERNAL", "Something went wrong on our side.")
}

/// A failure below the rules of a service that may have a meaning for callers: a database that is away is `UNAVAILABLE`, not `INTERNAL`.
public protocol ServiceErrorConvertible: Error {
    /// What callers get; nil for `INTERNAL`, because they cannot do anything about it.
    var serviceError: ServiceError? { get }
}
