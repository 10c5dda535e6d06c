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
    /// What a gateway has sealed about the request (`Seal`); goes with calls that are made for it.
    var seal: String?
    /// Whether it is only asked what is wrong with the fields of the request (`FieldQuestion`).
    var onlyChecks = false

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

    /// The signed-in administrator. The gateway has checked already; a caller on the bus has not.
    ///
    /// - Throws: `ServiceError` `UNAUTHENTICATED`, `ADMIN_ONLY`.
    public func requireAdmin() throws(ServiceError) -> UserID {
        let user = try requireUser()
        guard principal?.role == .admin else {
            throw ServiceError(.permissionDenied, "ADMIN_ONLY", "Only administrators may do this.")
        }
        return user
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
        var child = CallContext(
            requestID: requestID,
            trace: trace,
            deadline: deadline,
            principal: principal ?? self.principal,
            idempotencyKey: idempotencyKey,
            clientAddress: clientAddress
        )
        // Another principal is nothing that the gateway has said.
        if principal == nil { child.seal = seal }
        return child
    }
}

/// Names of the headers of a reply (ADR-32).
enum HeaderName {
    static let errorCode = "Nats-Service-Error-Code"
    static let errorReason = "Nats-Service-Error"
}

extension CallContext {
    /// The context as headers (D3).
    var headers: BusHeaders {
        var fields = CallFields()
        fields[.traceparent] = trace.description
        fields[.requestID] = requestID
        fields[.deadline] = String(deadline.milliseconds)
        fields[.idempotencyKey] = idempotencyKey
        fields[.keyLifetime] = keyLifetime.map { String($0.microseconds / 1_000_000) }
        fields[.clientAddress] = clientAddress?.description
        fields[.role] = principal?.role.rawValue
        fields[.user] = principal?.userID?.description
        fields[.session] = principal?.sessionID?.description
        fields[.seal] = seal
        fields[.onlyChecks] = onlyChecks ? "1" : nil
        return fields.headers
    }

    /// The context of a received request, in a span of its own. Missing or unreadable values get their default. A principal that is
    /// only partly readable becomes none, never one with fewer checks.
    ///
    /// - Parameters:
    ///   - fields: What the request carries.
    ///   - timeout: The time limit for a request without a deadline, as the `nats` command sends them.
    ///   - parent: The requester's span, if it was sent.
    init(_ fields: CallFields, timeout: Interval, parent: TraceContext? = nil) {
        let trace = parent?.child() ?? .random()
        let limit = SystemClock.now() + timeout
        let stated = fields[.deadline].flatMap { Int64($0) }.map { milliseconds in
            // A deadline beyond this (year 2255) counts as none; the bound prevents overflow.
            Instant(milliseconds: Swift.min(Swift.max(milliseconds, 0), 9_000_000_000_000))
        }
        self.init(
            requestID: fields[.requestID],
            trace: trace,
            deadline: stated ?? limit,
            principal: Principal(fields),
            idempotencyKey: fields[.idempotencyKey],
            clientAddress: fields[.clientAddress].flatMap { IPAddress($0) }
        )
        seal = fields[.seal]
        onlyChecks = fields[.onlyChecks] == "1"
        keyLifetime = fields[.keyLifetime].flatMap { Int64($0) }.flatMap { $0 > 0 ? .seconds($0) : nil }
    }
}

extension Principal {
    init?(_ fields: CallFields) {
        guard let role = fields[.role].flatMap({ Role(rawValue: $0) }) else { return nil }
        let (user, session) = (fields[.user], fields[.session])
        self.init(
            userID: user.flatMap { UserID($0) },
            role: role,
            sessionID: session.flatMap { SessionID($0) }
        )
        guard (user == nil) == (userID == nil), (session == nil) == (sessionID == nil) else { return nil }
    }
}
