public import Kernel

/// What travels with a request besides its message: principal, deadline, trace and request id.
public struct CallContext: Sendable {
    /// The id of the client's request in all services; in every log line.
    public var requestID: String
    /// The current span; a call made with this context gets a child span.
    public var trace: TraceContext
    /// When the caller stops waiting, in wall-clock time, never the development clock (D3).
    public var deadline: Instant
    /// Who the request is made for; nil when unknown.
    public var principal: Principal?
    /// The client's idempotency key (PF-4), or the one that the gateway has made for a change without.
    public var idempotencyKey: String?
    /// For how long a repeat with the key gets the first answer; nil for as long as the service keeps it for clients, 24 h.
    public var keyLifetime: Interval?
    /// The client's address as the gateway saw it; nil for work without a client's request.
    public var clientAddress: IPAddress?

    /// A context of these parts.
    ///
    /// - Parameters:
    ///   - requestID: By default the id of the trace.
    ///   - trace: By default a new one.
    ///   - deadline: By default ten seconds from now.
    ///   - principal: By default none.
    ///   - idempotencyKey: By default none.
    ///   - clientAddress: By default unknown.
    public init(
        requestID: String? = nil,
        trace: TraceContext = .random(),
        deadline: Instant? = nil,
        principal: Principal? = nil,
        idempotencyKey: String? = nil,
        clientAddress: IPAddress? = nil
    ) {
        self.requestID = requestID ?? trace.traceID
        self.trace = trace
        self.deadline = deadline ?? SystemClock.now() + .seconds(10)
        self.principal = principal
        self.idempotencyKey = idempotencyKey
        self.clientAddress = clientAddress
    }

    /// Gives a change without a key one of 128 unguessable bits, so that it may be sent again: its reply is stored for two minutes.
    public mutating func makeKey() {
        guard idempotencyKey == nil else { return }
        idempotencyKey = Entropy.name()
        keyLifetime = .minutes(2)
    }

    /// A context whose deadline is `timeout` from now.
    public static func expiring(in timeout: Interval, principal: Principal? = nil) -> CallContext {
        CallContext(deadline: SystemClock.now() + timeout, principal: principal)
    }

    /// The time left until the deadline; negative after it.
    public var remaining: Interval { deadline - SystemClock.now() }

    /// The signed-in user.
    ///
    /// - Throws: `ServiceError` `UNAUTHENTICATED` when no user is signed in.
    public func requireUser() throws(ServiceError) -> UserID {
        guard let principal, principal.role == .user || principal.role == .admin, let id = principal.userID else {
            throw ServiceError(.unauthenticated, "UNAUTHENTICATED", "Sign in first.")
        }
        return id
    }

    /// The context for a call made while handling this one: same request, span, deadline and principal.
    ///
    /// - Parameters:
    ///   - timeout: Brings the deadline forward; it never moves back.
    ///   - principal: Another principal, for example `Principal(role: .service)`.
    ///   - idempotencyKey: The key for the call. The own key is not passed on, because it names the caller's change.
    public func child(timeout: Interval? = nil, principal: Principal? = nil, idempotencyKey: String? = nil) -> CallContext {
        var deadline = deadline
        if let timeout { deadline = min(deadline, SystemClock.now() + timeout) }
        return CallContext(
            requestID: requestID,
            trace: trace,
            deadline: deadline,
            principal: principal ?? self.principal,
            idempotencyKey: idempotencyKey,
            clientAddress: clientAddress
        )
    }
}

/// Names of the headers of a request (D3).
enum HeaderName {
    static let traceparent = "traceparent"
    static let requestID = "request-id"
    static let deadline = "deadline"
    static let idempotencyKey = "idempotency-key"
    static let keyLifetime = "idempotency-key-seconds"
    static let user = "principal-user"
    static let role = "principal-role"
    static let session = "principal-session"
    static let clientAddress = "client-address"
    static let errorCode = "Nats-Service-Error-Code"
    static let errorReason = "Nats-Service-Error"
}

extension CallContext {
    /// The context as headers.
    var headers: BusHeaders {
        var headers = BusHeaders()
        headers.reserveCapacity(9)
        headers.append(HeaderName.traceparent, trace.description)
        headers.append(HeaderName.requestID, requestID)
        headers.append(HeaderName.deadline, String(deadline.milliseconds))
        if let idempotencyKey { headers.append(HeaderName.idempotencyKey, idempotencyKey) }
        if let keyLifetime { headers.append(HeaderName.keyLifetime, String(keyLifetime.microseconds / 1_000_000)) }
        if let clientAddress { headers.append(HeaderName.clientAddress, clientAddress.description) }
        guard let principal else { return headers }
        headers.append(HeaderName.role, principal.role.rawValue)
        if let id = principal.userID { headers.append(HeaderName.user, id.description) }
        if let id = principal.sessionID { headers.append(HeaderName.session, id.description) }
        return headers
    }

    /// The context of a received request, in a span of its own. Missing or unreadable values get their default. A principal that is
    /// only partly readable becomes none, never one with fewer checks.
    ///
    /// - Parameters:
    ///   - headers: The request's headers.
    ///   - timeout: The time limit for a request without a deadline, as the `nats` command sends them.
    ///   - parent: The requester's span, if it was sent.
    init(headers: BusHeaders, timeout: Interval, parent: TraceContext? = nil) {
        let trace = parent?.child() ?? .random()
        let limit = SystemClock.now() + timeout
        let stated = headers[HeaderName.deadline].flatMap { Int64($0) }.map { milliseconds in
            // A deadline beyond this (year 2255) counts as none; the bound prevents overflow.
            Instant(milliseconds: Swift.min(Swift.max(milliseconds, 0), 9_000_000_000_000))
        }
        self.init(
            requestID: headers[HeaderName.requestID],
            trace: trace,
            deadline: stated ?? limit,
            principal: Principal(headers: headers),
            idempotencyKey: headers[HeaderName.idempotencyKey],
            clientAddress: headers[HeaderName.clientAddress].flatMap { IPAddress($0) }
        )
        keyLifetime = headers[HeaderName.keyLifetime].flatMap { Int64($0) }.flatMap { $0 > 0 ? .seconds($0) : nil }
    }
}

extension Principal {
    init?(headers: BusHeaders) {
        guard let role = headers[HeaderName.role].flatMap({ Role(rawValue: $0) }) else { return nil }
        let user = headers[HeaderName.user]
        let session = headers[HeaderName.session]
        self.init(
            userID: user.flatMap { UserID($0) },
            role: role,
            sessionID: session.flatMap { SessionID($0) }
        )
        guard (user == nil) == (userID == nil), (session == nil) == (sessionID == nil) else { return nil }
    }
}
