public import Wire

/// What a feature does with one kind of event. Runs inside a transaction with the inbox entry: its effects happen once (D5).
public struct EventHandler: Sendable {
    /// `evt.<service>.v1.<Message>`.
    public let subject: String
    let handle: @Sendable (StoredEvent, UnitOfWork) async throws -> Void
    /// How it is applied together with other events; nil: each in a transaction of its own.
    let batch: BatchPart?

    /// A handler of one event type. It may run again after a rollback, so it must have no effect but through `UnitOfWork`.
    public init<E: Event>(_: E.Type, _ handle: @escaping @Sendable (E, UnitOfWork) async throws -> Void) {
        self.subject = E.subject
        self.handle = { stored, work in try await handle(try E(serialized: stored.body), work) }
        self.batch = nil
    }

    /// Several handlers of one event, one after the other in the same transaction.
    init(_ first: EventHandler, then second: EventHandler) {
        self.subject = first.subject
        self.handle = { stored, work in
            try await first.handle(stored, work)
            try await second.handle(stored, work)
        }
        self.batch = nil
    }

    /// The service that emits it: the second word of the subject.
    public var source: String { subject.split(separator: ".").dropFirst().first.map(String.init) ?? "" }
}
