import Wire

@testable import Outbox

extension UnitOfWorkFactory {
    /// What an event of another service does: those of the handlers that are for it run, each in a transaction.
    func consume(_ event: any Event, by handlers: [EventHandler]) async throws {
        try await consume(type(of: event).subject, try event.serialized(), by: handlers)
    }

    /// The same with an event as it is stored.
    func consume(_ subject: String, _ body: [UInt8], by handlers: [EventHandler]) async throws {
        for handler in handlers where handler.subject == subject {
            try await run(trace: "", requestID: "") { work in
                let stored = StoredEvent(
                    id: work.ids.make(),
                    aggregate: "",
                    subject: subject,
                    trace: "",
                    requestID: "",
                    body: body
                )
                try await handler.handle(stored, work)
            }
        }
    }
}
