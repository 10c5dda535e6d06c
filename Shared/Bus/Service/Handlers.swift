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
        self.init(method) { request, context in try await handler.handle(request, context) }
    }

    /// An endpoint of a method that changes something.
    public init<Request: Message, Reply: Message>(
        _ method: Method<Request, Reply>,
        _ handler: some MutationHandler<Request, Reply>
    ) {
        self.init(method) { request, context in try await handler.handle(request, context).reply }
    }
}
