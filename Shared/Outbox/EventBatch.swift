public import Kernel
public import Wire

/// What a feature does with many events at once, of one kind or of several: one transaction and a bounded number of statements for
/// hundreds of events, where `EventHandler.init(_:_:)` takes a transaction for each.
///
/// Handlers that share a batch turn their events into items; `apply` gets the items of all events of a pass in the order of the stream.
/// A single event is a batch of one, so there is one path. What `EventConsumer` promises holds for each event of a batch: its inbox entry
/// and its effects are one transaction, those of an aggregate keep their order, and one that fails is found by halving, put aside and
/// tried again alone, while all others go on.
///
///     let batch = EventBatch<Entry> { entries, work in try await repository.insert(entries, work.sql) }
///     let handlers = [EventHandler(SnapCounted.self, in: batch) { event, now in [Entry(event, at: now)] }]
///
/// An aggregate of which other events come in the same pass that another batch, or a handler without one, takes is handled event by event.
public struct EventBatch<Item: Sendable>: Sendable {
    let identity = BatchIdentity()
    let apply: @Sendable ([Item], UnitOfWork) async throws -> Void

    /// - Parameter apply: makes the effects of all items, which are at least one. It may run again after a rollback, and with parts of the
    ///   same items when one of their events fails, so it must have no effect but through `UnitOfWork`. It must lock rows that several items
    ///   or transactions share in one order, of their ids for example, or replicas wait for each other in a ring. Events that it emits carry
    ///   the trace of the first event of the batch; it must emit no protective ones (`ProtectiveEvents`).
    public init(_ apply: @escaping @Sendable (_ items: [Item], UnitOfWork) async throws -> Void) { self.apply = apply }
}

/// Which batch handlers belong to.
final class BatchIdentity: Sendable {}

extension EventHandler {
    /// A handler of one event type that is applied together with others.
    ///
    /// - Parameters:
    ///   - batch: what its items are applied by; the same for all handlers whose events may share a transaction.
    ///   - items: what one event comes to, without any effect; none when it is of no interest. What it throws fails this event alone.
    public init<E: Event, Item: Sendable>(
        _: E.Type,
        in batch: EventBatch<Item>,
        _ items: @escaping @Sendable (_ event: E, _ now: Instant) throws -> [Item]
    ) {
        self.init(
            subject: E.subject,
            batch: BatchPart(
                identity: batch.identity,
                items: { stored, now in try items(try E(serialized: stored.body), now) },
                apply: { values, work in
                    let items = values.compactMap { $0 as? Item }
                    guard items.count == values.count else { throw ServiceError.internal }
                    try await batch.apply(items, work)
                }
            )
        )
    }

    private init(subject: String, batch: BatchPart) {
        self.subject = subject
        self.batch = batch
        self.handle = { stored, work in try await batch.handle([stored], work) }
    }
}

/// A handler's part in a batch, whatever the type of its items.
struct BatchPart: Sendable {
    let identity: BatchIdentity
    let items: @Sendable (StoredEvent, Instant) throws -> [any Sendable]
    let apply: @Sendable ([any Sendable], UnitOfWork) async throws -> Void

    /// Events of this handler alone.
    func handle(_ events: [StoredEvent], _ work: UnitOfWork) async throws {
        let items = try events.flatMap { try self.items($0, work.now) }
        if !items.isEmpty { try await apply(items, work) }
    }
}

/// An event of a pass with what handles it.
struct WaitingEvent: Sendable {
    /// Of its message.
    let sequence: Int
    let event: StoredEvent
    let handler: EventHandler
}

/// Events of a pass that are handled one after the other, or together, in the order of the stream.
struct EventRun: Sendable {
    var events: [WaitingEvent]
    /// What applies all of them in one transaction; nil: each has one of its own.
    let together: (@Sendable ([any Sendable], UnitOfWork) async throws -> Void)?

    /// Divides a pass into what may run side by side: all events of an aggregate are in one run.
    static func divide(_ pass: [WaitingEvent]) -> [EventRun] {
        var runs: [EventRun] = []
        var batches: [ObjectIdentifier: Int] = [:]
        var aggregates: [String: Int] = [:]
        let parts = Dictionary(grouping: pass, by: \.event.aggregate).mapValues(Self.common)
        for event in pass {
            if let part = parts[event.event.aggregate] ?? nil {
                let identity = ObjectIdentifier(part.identity)
                if let index = batches[identity] {
                    runs[index].events.append(event)
                } else {
                    batches[identity] = runs.count
                    runs.append(EventRun(events: [event], together: part.apply))
                }
            } else if let index = aggregates[event.event.aggregate] {
                runs[index].events.append(event)
            } else {
                aggregates[event.event.aggregate] = runs.count
                runs.append(EventRun(events: [event], together: nil))
            }
        }
        return runs
    }

    /// The batch that all these events belong to; nil when there is none.
    private static func common(_ events: [WaitingEvent]) -> BatchPart? {
        guard let part = events.first?.handler.batch else { return nil }
        return events.allSatisfy { $0.handler.batch?.identity === part.identity } ? part : nil
    }
}
