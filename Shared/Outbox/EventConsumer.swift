public import Bus
public import Database
internal import Kernel
public import Logging
internal import Synchronization

/// Consumes the events of other services for one feature: each event once, those of one aggregate in order (D5).
///
/// What happens to an event: the inbox entry and the handler's effects are one transaction. An event whose handler fails is put aside in
/// `event_retry`, where it is tried again with back-off; later events of the same aggregate queue up behind it, all others go on. After
/// `maxAttempts` it is parked until an operator re-drives it. While the database is away, or transactions cannot be serialised, the
/// event waits.
///
/// What holds whichever process is killed, frozen or resumed, and however long that takes:
///
/// - **Once.** An event has its effect in the transaction that enters it in the inbox, and only if it was not there.
/// - **In order.** The feature notes how far it has come in a stream (`consumer_lease.position`): a place before which every event is in
///   the inbox. The replica that reads goes on from there in the order of the stream and passes no event before it is in the inbox, by its
///   own transaction or another's. So an event of an aggregate always finds those before it consumed (`StreamReading`).
/// - **All.** The broker keeps events for 7 days and gets no acknowledgements; what was received and not handled is read again.
///
/// Everything is kept per feature (durable, lease, position, inbox, retries), because a replica may run some features of its executable
/// only: what it has no handler for must stay for the replica that does. Replicas take turns by a lease, which only spares double work:
/// neither guarantee needs it.
public final class EventConsumer: Sendable {
    /// The feature that consumes.
    public let feature: String
    /// The name of its durables.
    let durable: String
    let database: Database
    let work: UnitOfWorkFactory
    let logger: Logger
    let handlers: [String: EventHandler]
    let maxAttempts: Int
    let leaseLength: Duration
    let presence: ReplicaPresence?
    let jetStream: JetStream
    let executor: any TaskExecutor
    let replica: ID<EventConsumer>
    /// Messages that are asked for at once.
    let batch: Int
    /// For handlers that take a transaction for each event, and for those that share one.
    static let (mostAlone, mostTogether) = (100, 500)
    /// How long handling those may take before another turn is begun. While the database is away they wait for so long too.
    static let batchLimit = Duration.seconds(120)
    /// How often the broker is asked what it has delivered: while something comes, and on a stream that is quiet.
    static let (shortestCheck, longestCheck) = (Duration.seconds(1), Duration.seconds(8))
    /// The streams this replica reads now.
    let turns = Mutex<[String: ConsumerTurn]>([:])
    let retryWatch = RetryWatch()
    private let handledCount = Atomic(0)

    /// - Parameters:
    ///   - service: the service that consumes.
    ///   - feature: the feature of it; its durables, which the operator's process makes, are called `durableName`.
    ///   - handlers: those of one event type run in this order, in one transaction.
    ///   - maxAttempts: tries before an event is parked.
    ///   - leaseLength: how long a replica that died holds up the others when nothing shows that it did, at least 100 ms.
    ///   - presence: by which the others see that it did.
    public init(
        service: String,
        feature: String,
        handlers: [EventHandler],
        database: Database,
        work: UnitOfWorkFactory,
        jetStream: JetStream,
        logger: Logger,
        maxAttempts: Int = 10,
        leaseLength: Duration = .seconds(6),
        presence: ReplicaPresence? = nil
    ) {
        self.feature = feature
        self.durable = Self.durableName(service: service, feature: feature)
        self.handlers = Dictionary(handlers.map { ($0.subject, $0) }, uniquingKeysWith: EventHandler.init(_:then:))
        self.batch = handlers.contains { $0.batch != nil } ? Self.mostTogether : Self.mostAlone
        self.database = database
        self.work = work
        self.jetStream = jetStream
        self.executor = jetStream.executor()
        self.logger = logger
        self.maxAttempts = maxAttempts
        self.leaseLength = leaseLength
        self.presence = presence
        self.replica = work.ids.make()
    }

    /// The durable consumer of a feature on every stream that it reads: `streaks-mutual`.
    public static func durableName(service: String, feature: String) -> String { "\(service)-\(feature)" }

    /// Services whose events this consumer handles: `auth`, …
    public var sources: [String] { Set(handlers.values.map(\.source)).sorted() }

    /// The types of events that it handles: `evt.auth.v1.AccountDeleted`, …
    public var subjects: Set<String> { Set(handlers.keys) }

    /// Streams this consumer reads: `EVT_AUTH`, …
    public var streams: [String] { sources.map(Self.streamName) }

    /// `EVT_AUTH` for `auth`.
    public static func streamName(ofService service: String) -> String { "EVT_" + service.uppercased() }

    /// How many events were handled in this replica so far.
    public var handled: Int { handledCount.load(ordering: .sequentiallyConsistent) }

    /// Consumes all streams until the task is cancelled, and then ends the events it is at. A stream that does not exist yet, a broker or a
    /// database that is away are waited for; one stream never waits for another.
    public func run() async {
        await withTaskGroup(of: Void.self) { tasks in
            for stream in streams { tasks.addTask { [self] in await consume(stream: stream) } }
        }
    }

    /// One batch: aggregates side by side, the events of one in order; those with a common batch handler together.
    func consume(_ batch: [StreamMessage], _ turn: ConsumerTurn) async {
        guard !batch.isEmpty else { return }
        // Only a short cut, for passes that begin with much that was consumed: the transaction checks again.
        let known = turn.mayRepeat ? (try? await consumed(among: batch)) ?? [] : []
        var handled: Set<Int> = []
        var pass: [WaitingEvent] = []
        for message in batch {
            // A service can have a message of one stream delivered into another; there no handler may see it.
            guard let handler = handlers[message.subject], Self.streamName(ofService: handler.source) == turn.lease.stream
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
                pass.append(WaitingEvent(sequence: message.streamSequence, event: event, handler: handler))
            }
        }
        await withTaskGroup(of: [Int].self) { tasks in
            for run in EventRun.divide(pass) {
                tasks.addTask { [self] in
                    if let apply = run.together { return await consumeTogether(run.events, turn, apply) }
                    var done: [Int] = []
                    for waiting in run.events {
                        guard await consume(waiting.event, with: waiting.handler, turn) else { break }
                        done.append(waiting.sequence)
                    }
                    return done
                }
            }
            for await done in tasks {
                // Before they are no backlog any more.
                handledCount.add(done.count, ordering: .sequentiallyConsistent)
                handled.formUnion(done)
            }
        }
        turn.finished(batch, handled: handled, repeated: known.count)
    }

    private func consumed(among batch: [StreamMessage]) async throws -> Set<EventID> {
        let ids = batch.compactMap { StoredEvent($0)?.id }
        let rows = try await database.query("SELECT event_id FROM inbox WHERE event_id = ANY(\(ids)) AND feature = \(feature)")
        return Set(try rows.map { try $0.decode(as: EventID.self) })
    }

    /// - Returns: false when this replica's turn has ended: the event, and those after it, are left to the next one.
    func consume(_ event: StoredEvent, with handler: EventHandler, _ turn: ConsumerTurn) async -> Bool {
        var tries = 0
        while turn.goesOn {
            do {
                if try await apply(event, with: handler, turn.lease) { return true }
                turn.end()
            } catch {
                tries += 1
                logger.warning("an event waits", metadata: ["event": "\(event.id)", "error": "\(error)"])
                try? await Task.sleep(for: .milliseconds(min(1_000, 20 << min(tries, 6))))
            }
        }
        return false
    }

    /// - Returns: false when another replica reads now.
    /// - Throws: what may pass by itself; every other failure has the event put aside.
    private func apply(_ event: StoredEvent, with handler: EventHandler, _ lease: ConsumerLease) async throws -> Bool {
        do {
            return try await attempt(event, lease) { work in try await handler.handle(event, work) }
        } catch {
            if let error = error as? DatabaseError, error.mayPass { throw error }
            logger.warning(
                "an event failed and will be tried again",
                metadata: ["event": "\(event.id)", "subject": "\(event.subject)", "error": "\(error)"]
            )
            retryWatch.somethingWaits()
            return try await attempt(event, lease) { [self] work in
                try await enqueue(event, attempts: 1, error: "\(error)", work.sql)
            }
        }
    }

    /// One transaction: the inbox, and what is to be done unless it was done before or an earlier event of the aggregate waits.
    private func attempt(
        _ event: StoredEvent,
        _ lease: ConsumerLease,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Void
    ) async throws -> Bool {
        try await work.run(trace: event.trace, requestID: event.requestID) { [self] work in
            let work = work.continuing(event)
            switch try await lease.enter(event, work.sql) {
            case .lost: return false
            case .consumedBefore: return true
            case .new: break
            }
            let waiting = try await work.sql.query(
                "SELECT 1 FROM event_retry WHERE feature = \(feature) AND aggregate = \(event.aggregate) LIMIT 1"
            )
            if waiting.isEmpty {
                try await body(work)
            } else {
                try await enqueue(event, attempts: 0, error: "waits for an earlier event of its aggregate", work.sql)
            }
            return true
        }
    }

    private func enqueue(_ event: StoredEvent, attempts: Int, error: String, _ sql: Transaction) async throws {
        try await enqueue([event], attempts: attempts, error: error, sql)
    }

    /// Puts events aside, in this order.
    func enqueue(_ events: [StoredEvent], attempts: Int, error: String, _ sql: Transaction) async throws {
        guard !events.isEmpty else { return }
        _ = try await sql.execute(
            """
            INSERT INTO event_retry (event_id, feature, aggregate, subject, trace, request_id, body, attempts, next_attempt_at, last_error)
            SELECT event_id, \(feature), aggregate, subject, trace, request_id, body, \(attempts),
                clock_timestamp() + make_interval(secs => \(EventRetry.delay(afterAttempt: attempts))), \(EventRetry.text(error))
            FROM unnest(\(events.map(\.id)), \(events.map(\.aggregate)), \(events.map(\.subject)), \(events.map(\.trace)),
                \(events.map(\.requestID)), \(events.map(\.body)))
                WITH ORDINALITY AS event (event_id, aggregate, subject, trace, request_id, body, place)
            ORDER BY place
            """
        )
    }
}

extension DatabaseError {
    /// Whether the failure says nothing about the event: the same transaction may succeed in a moment.
    var mayPass: Bool {
        if isConnectionFailure || isRetryable || isServerUnable { return true }
        switch code {
        case .outcomeUnknown, .overloaded, .lockTimeout, .stopped: return true
        default: return false
        }
    }
}

extension [EventConsumer] {
    /// Consumes the streams of all until the task is cancelled, and then ends the events that they are at.
    public func run() async {
        await withTaskGroup(of: Void.self) { tasks in
            for consumer in self { tasks.addTask { await consumer.run() } }
        }
    }
}
