public import Kernel
public import Wire

/// One RPC: its name on the bus, and how it may be called. Generated, one for each `rpc` line.
public struct Method<Request: Message, Reply: Message>: Sendable {
    /// The service: `auth`.
    public let service: String
    /// The major version: `v1`.
    public let version: String
    /// The RPC: `Register`.
    public let name: String
    /// Whether a repeat has no further effect; only then it is retried.
    public let isIdempotent: Bool
    /// The longest a caller waits.
    public let timeout: Interval

    /// A method of these parts; by default a caller waits ten seconds.
    public init(service: String, version: String, name: String, isIdempotent: Bool, timeout: Interval = .seconds(10)) {
        self.service = service
        self.version = version
        self.name = name
        self.isIdempotent = isIdempotent
        self.timeout = timeout
    }

    /// Where requests are published (D3): `rpc.auth.v1.Register`.
    public var subject: String { "rpc.\(service).\(version).\(name)" }

    /// The same method for a handler that has its reply encoded already.
    public var encoded: Method<Request, Encoded<Reply>> {
        Method<Request, Encoded<Reply>>(
            service: service,
            version: version,
            name: name,
            isIdempotent: isIdempotent,
            timeout: timeout
        )
    }
}

/// Calls methods of services: the bus, or a fake in tests.
public protocol Caller: Sendable {
    /// Calls a method and waits for its reply.
    ///
    /// - Parameters:
    ///   - method: What to call.
    ///   - request: The request.
    ///   - context: Principal and deadline; the method's timeout may make the deadline earlier.
    /// - Returns: The service's reply.
    /// - Throws: `ServiceError` of the service; `UNAVAILABLE` when no instance can answer; `DEADLINE_EXCEEDED` when none did in
    ///   time;
    ///   `CancellationError` when the calling task was cancelled.
    func call<Request: Message, Reply: Message>(
        _ method: Method<Request, Reply>,
        _ request: Request,
        context: CallContext
    ) async throws -> Reply
}

/// One method as a service answers it.
public struct Endpoint: Sendable {
    /// Answers one request: bytes in, bytes out.
    public typealias Handler = @Sendable (_ body: [UInt8], _ context: CallContext) async throws -> [UInt8]

    /// The service: `auth`.
    public let service: String
    /// The major version: `v1`.
    public let version: String
    /// The RPC: `Register`.
    public let name: String
    /// The subject for requests.
    public let subject: String
    /// The time limit for a request without a deadline.
    public let timeout: Interval
    /// Its metadata in `$SRV.INFO`.
    public var metadata: [String: String]
    /// Answers one request; may be wrapped, as the service runtime does for idempotency (D12).
    public var handle: Handler
    /// What is wrong with the fields of a request, which is not answered (`FieldQuestion`). Of bytes that are not decoded nothing is.
    var problems: @Sendable (_ body: [UInt8]) -> [ServiceError.Detail] = { _ in [] }

    /// An endpoint that works on bytes.
    ///
    /// - Parameter subject: nil means that of the RPC, `rpc.auth.v1.Register`.
    public init(
        service: String,
        version: String,
        name: String,
        subject: String? = nil,
        timeout: Interval = .seconds(30),
        metadata: [String: String] = [:],
        handle: @escaping Handler
    ) {
        self.service = service
        self.version = version
        self.name = name
        self.subject = subject ?? "rpc.\(service).\(version).\(name)"
        self.timeout = timeout
        self.metadata = metadata
        self.handle = handle
    }

    /// An endpoint that decodes and validates the request, calls `handler` and encodes its reply.
    ///
    /// A request that cannot be decoded, or breaks its validation rules, is refused with `VALIDATION_ERROR` before `handler` runs.
    public init<Request: Message, Reply: Message>(
        _ method: Method<Request, Reply>,
        _ handler: @escaping @Sendable (_ request: Request, _ context: CallContext) async throws -> Reply
    ) {
        self.init(method, problems: { _ in [] }, answer: handler)
    }

    /// The same with what the handler finds wrong beyond the validation rules.
    init<Request: Message, Reply: Message>(
        _ method: Method<Request, Reply>,
        problems: @escaping @Sendable (_ request: Request) -> [ServiceError.Detail],
        answer: @escaping @Sendable (_ request: Request, _ context: CallContext) async throws -> Reply
    ) {
        self.init(
            service: method.service,
            version: method.version,
            name: method.name,
            timeout: method.timeout,
            metadata: ["idempotent": method.isIdempotent ? "true" : "false"]
        ) { body, context in
            let request = try Self.decode(body, problems)
            return try await answer(request, context).serialized()
        }
        self.problems = { Request.problems(ofRefused: $0, beyondOptions: problems) }
    }

    private static func decode<Request: Message>(
        _ body: [UInt8],
        _ problems: (Request) -> [ServiceError.Detail]
    ) throws(ServiceError) -> Request {
        let request: Request
        do { request = try Request(request: body) } catch {
            var refusal = error as? ServiceError ?? error.asRequestError
            let found = Request.problems(ofRefused: body, beyondOptions: problems)
            refusal.details.add(found, most: Violations.mostDetails)
            throw refusal
        }
        let found = problems(request)
        guard found.isEmpty else { throw .validation(found) }
        return request
    }
}

extension Error {
    /// The refusal of a request that could not be coded: names the field if known, never shows a value.
    var asRequestError: ServiceError {
        switch self as? WireError {
        case .invalidUTF8(let field): .validation(field: field, "is not valid UTF-8")
        case .nulInString(let field): .validation(field: field, "must not contain U+0000")
        case .timestampOutOfRange(let field): .validation(field: field, "is out of range")
        case .unreadable(let field): .validation(field: field, "is neither an id nor a date")
        case .tooDeep: .validation(field: "", "is nested too deeply")
        case .tooLarge: .validation(field: "", "is too large")
        case .malformed, nil: .validation(field: "", "is not a message of the expected type")
        }
    }
}
