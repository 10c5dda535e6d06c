public import Kernel
public import Wire

/// Answers one RPC that changes nothing.
public protocol QueryHandler<Request, Reply>: Sendable {
    /// What is asked.
    associatedtype Request: Message
    /// What is answered.
    associatedtype Reply: Message

    /// Answers a request that its validation rules allow.
    ///
    /// - Throws: `ServiceError` for a refusal.
    func handle(_ request: Request, _ context: CallContext) async throws -> Reply

    /// What is wrong with the fields of a request beyond its validation rules, as far as the request alone says it. Such a request does not
    /// reach `handle`; this is also asked when those rules are broken, so that all bad fields are answered at once (PF-2). Without an own one
    /// none, and of the request of a list its `placeProblems`.
    func problems(of request: Request) -> [ServiceError.Detail]
}

/// Answers one RPC that changes something: it cannot answer without what makes the change happen once (D12).
public protocol MutationHandler<Request, Reply>: Sendable {
    /// What is to be done.
    associatedtype Request: Message
    /// What is answered.
    associatedtype Reply: Message

    /// Does what a request that its validation rules allow asks for, once.
    ///
    /// - Throws: `ServiceError` for a refusal.
    func handle(_ request: Request, _ context: CallContext) async throws -> Once<Reply>

    /// What is wrong with the fields of a request beyond its validation rules, as far as the request alone says it. Such a request does not
    /// reach `handle`; this is also asked when those rules are broken, so that all bad fields are answered at once (PF-2). None without an
    /// own one.
    func problems(of request: Request) -> [ServiceError.Detail]
}

extension QueryHandler {
    public func problems(of _: Request) -> [ServiceError.Detail] { [] }
}

extension MutationHandler {
    public func problems(of _: Request) -> [ServiceError.Detail] { [] }
}

extension QueryHandler where Request: PagedRequest {
    public func problems(of request: Request) -> [ServiceError.Detail] { request.placeProblems }
}

/// A reply whose change happens once, however often the request comes. Only what stores replies can make one: the runtime's `Mutations`.
public struct Once<Reply: Sendable>: Sendable {
    /// What is answered, now and to every repeat.
    public let reply: Reply

    /// For what has stored the reply together with the change.
    @_spi(Once)
    public init(_ reply: Reply) { self.reply = reply }
}

extension Endpoint {
    /// An endpoint of a method that changes nothing.
    public init<Request: Message, Reply: Message>(
        _ method: Method<Request, Reply>,
        _ handler: some QueryHandler<Request, Reply>
    ) {
        self.init(method, problems: { handler.problems(of: $0) }, answer: { try await handler.handle($0, $1) })
    }

    /// An endpoint of a method that changes something.
    public init<Request: Message, Reply: Message>(
        _ method: Method<Request, Reply>,
        _ handler: some MutationHandler<Request, Reply>
    ) {
        self.init(method, problems: { handler.problems(of: $0) }, answer: { try await handler.handle($0, $1).reply })
    }
}
