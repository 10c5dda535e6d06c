public import Bus
public import Database
internal import Kernel
public import Logging
internal import Synchronization

/// Hears the events of other services for one service: each event once, those of one aggregate in order (D5).
///
/// What happens to an event: the inbox entry and the handler's effects are one transaction. An event whose handler fails is put aside in
/// `event_retry`, where it is tried again with back-off; later events of the same aggregate queue up behind it, all others go on. After
/// `maxAttempts` it is parked until an operator re-drives it. While the database is away, or transactions cannot be serialised, the
/// event is waited with.
///
/// What holds whatever dies, freezes or comes back, and however long that takes:
///
/// - **Once.** An event has its effect in the transaction that enters it in the inbox, and only if it was not there.
/// - **In order.** The service notes how far it has heard a stream (`hearing_lease.position`): a place before which every event is in the
///   inbox. Whoever hears goes on from there in the order of the stream and passes no event before it is in the inbox, by his own
///   transaction or another's. So an event of an aggregate always finds those before it heard (`StreamReading`).
/// - **All.** The broker keeps events for 7 days and is told nothing; what was received and not handled is simply read again.
///
/// A service's replicas take turns by a lease, which only spares double work: neither guarantee needs it.
public final class EventConsumer: Sendable {
    let service: String
    let database: Database
    let work: UnitOfWorkFactory
    let logger: Logger
    let handlers: [String: EventHandler]
    let maxAttempts: Int
    let jetStream: JetStream
    let replica: ID<EventConsumer>
    let leaseLength: Duration
    /// Messages that are asked for at once.
    static let batch = 100
    /// How long handling those may take before another turn is begun. While the database is away they are waited with for so long too.
    static let batchLimit = Duration.seconds(120)
    /// The streams this replica hears now.
    let turns = Mutex<[String: StreamHearing]>([:])

    /// - Parameters:
    ///   - service: the service that hears; its durables, which the operator's process makes, carry its name.
    ///   - handlers: those of one event type run in this order, in one transaction.
    ///   - maxAttempts: tries before an event is parked.
    ///   - leaseLength: how long a replica that died holds up the others, at least 100 ms; tests do not wait for six seconds.
    public init(
        service: String,
        handlers: [EventHandler],
        database: Database,
        work: UnitOfWorkFactory,
        jetStream: JetStream,
        logger: Logger,
        maxAttempts: Int = 10,
        leaseLength: Duration = .seconds(6)
    ) {
        self.service = service
        self.handlers = Dictionary(handlers.map { ($0.subject, $0) }, uniquingKeysWith: EventHandler.init(_:then:))
        self.database = database
        self.work = work
        self.jetStream = jetStream
        self.logger = logger
        self.maxAttempts = maxAttempts
        self.leaseLength = leaseLength
        self.replica = work.ids.make()
    }

    /// Services whose events this consumer handles: `auth`, …
    public var sources: [String] { Set(handlers.values.map(\.source)).sorted() }

    /// Streams this consumer reads: `EVT_AUTH`, …
    public var streams: [String] { sources.map(Self.streamName) }

    /// `EVT_AUTH` for `auth`.
    public static func streamName(ofService service: String) -> String { "EVT_" + service.uppercased() }

    /// Hears all streams until the task is cancelled, and then ends the events it is at. A stream that does not exist yet, a broker or a
    /// database that is away are waited for; one stream never waits for another.
    public func run() async {
        await withTaskGroup(of: Void.self) { tasks in
            for stream in streams { tasks.addTask { [self] in await hear(stream: stream) } }
        }
    }

    /// One batch: aggregates side by side, the events of one in order.
    func hear(_ batch: [StreamMessage], _ hearing: StreamHearing) async {
        guard !batch.isEmpty else { return }
        // Only a short cut, for passes that begin with much that was heard: the transaction looks again.
        let known = hearing.mayRepeat ? (try? await heard(among: batch)) ?? [] : []
        var handled: Set<Int> = []
        var groups: [String: [(StreamMessage, StoredEvent, EventHandler)]] = [:]
        for message in batch {
            // A service can have a message of one stream delivered into another; there it is nobody's.
            guard let handler = handlers[message.subject], Self.streamName(ofService: handler.source) == hearing.lease.stream
            else {
                handled.insert(message.streamSequence)
                continue
            }
            guard let event = StoredEvent(message) else {
                logger.error("an event without id was dropped", metadata: ["subject": "\(message.subject)"])
                handled.insert(message.streamSequence)
                continue
            }
            if known.contains(event.id) {
                handled.insert(message.streamSequence)
            } else {
                groups[event.aggregate, default: []].append((message, event, handler))
            }
        }
        await withTaskGroup(of: [Int].self) { tasks in
            for group in groups.values {
                tasks.addTask { [self] in
                    var done: [Int] = []
                    for (message, event, handler) in group {
                        guard await hear(event, with: handler, hearing) else { break }
                        done.append(message.streamSequence)
                    }
                    return done
                }
            }
            for await done in tasks { handled.formUnion(done) }
        }
        hearing.finished(batch, handled: handled, repeated: known.count)
    }

    private func heard(among batch: [StreamMessage]) async throws -> Set<EventID> {
        let ids = batch.compactMap { StoredEvent($0)?.id }
        let rows = try await database.query("SELECT event_id FROM inbox WHERE event_id = ANY(\(ids))")
        return Set(try rows.map { try $0.decode(as: EventID.self) })
    }

    /// - Returns: false when this replica's turn has ended: the event, and those after it, are left to the next one.
    private func hear(_ event: StoredEvent, with handler: EventHandler, _ hearing: StreamHearing) async -> Bool {
        var tries = 0
        while hearing.goesOn {
            do {
                if try await apply(event, with: handler, hearing.lease) { return true }
                hearing.end()
            } catch {
                tries += 1
                logger.warning("an event waits", metadata: ["event": "\(event.id)", "error": "\(error)"])
                try? await Task.sleep(for: .milliseconds(min(1_000, 20 << min(tries, 6))))
            }
        }
        return false
    }

    /// - Returns: false when another replica hears now.
    /// - Throws: what may pass by itself; every other failure has the event put aside.
    private func apply(_ event: StoredEvent, with handler: EventHandler, _ lease: HearingLease) async throws -> Bool {
        do {
            return try await attempt(event, lease) { work in try await handler.handle(event, work) }
        } catch {
            if let error = error as? DatabaseError, error.mayPass { throw error }
            logger.warning(
                "an event failed and will be tried again",
                metadata: ["event": "\(event.id)", "subject": "\(event.subject)", "error": "\(error)"]
            )
            return try await attempt(event, lease) { work in
                try await Self.enqueue(event, attempts: 1, error: "\(error)", work.sql)
            }
        }
    }

    /// One transaction: the inbox, and what is to be done unless it was done before or an earlier event of the aggregate waits.
    private func attempt(
        _ event: StoredEvent,
        _ lease: HearingLease,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Void
    ) async throws -> Bool {
        try await work.run(trace: event.trace, requestID: event.requestID) { work in
            switch try await lease.enter(event, work.sql) {
            case .lost: return false
            case .heardBefore: return true
            case .new: break
            }
            let waiting = try await work.sql.query("SELECT 1 FROM event_retry WHERE aggregate = \(event.aggregate) LIMIT 1")
            if waiting.isEmpty {
                try await body(work)
            } else {
                try await Self.enqueue(event, attempts: 0, error: "waits for an earlier event of its aggregate", work.sql)
            }
            return true
        }
    }

    private static func enqueue(_ event: StoredEvent, attempts: Int, error: String, _ sql: Transaction) async throws {
        _ = try await sql.execute(
            """
            INSERT INTO event_retry (event_id, aggregate, subject, trace, request_id, body, attempts, next_attempt_at, last_error)
            VALUES (\(event.id), \(event.aggregate), \(event.subject), \(event.trace), \(event.requestID), \(event.body), \(attempts),
                clock_timestamp() + make_interval(secs => \(EventRetry.delay(afterAttempt: attempts))), \(EventRetry.text(error)))
            """
        )
    }
}

extension DatabaseError {
    /// Whether the failure says nothing about the event: the same transaction may succeed in a moment.
    var mayPass: Bool {
        if isConnectionFailure || isRetryable { return true }
        switch code {
        case .outcomeUnknown, .overloaded, .lockTimeout, .stopped: return true
        default: return false
        }
    }
}
