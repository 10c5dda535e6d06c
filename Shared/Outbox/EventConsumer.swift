public import Bus
public import Database
internal import Kernel
public import Logging

/// Hears the events of other services for one service: durable, each event once, those of one aggregate in order (D5).
///
/// What happens to an event: the inbox entry and the handler's effects are one transaction; then the broker is told. An event whose
/// handler fails is put aside in `event_retry`, where it is tried again with back-off; later events of the same aggregate queue up
/// behind it, all others go on. After `maxAttempts` it is parked until an operator re-drives it. While the database is away, or
/// transactions cannot be serialised, the event is waited with; the broker keeps it.
///
/// A service's replicas share the durable consumer and take turns: two that heard one stream side by side could swap the events of an
/// aggregate. What a replica that died had received is waited for first (`DeliveryOrder`).
public final class EventConsumer: Sendable {
    let service: String
    let database: Database
    let work: UnitOfWorkFactory
    let logger: Logger
    let handlers: [String: EventHandler]
    let maxAttempts: Int
    let jetStream: JetStream
    let replica: ID<EventConsumer>

    /// - Parameters:
    ///   - service: the service that hears; its durables carry its name.
    ///   - handlers: at most one per event type.
    ///   - maxAttempts: tries before an event is parked.
    public init(
        service: String,
        handlers: [EventHandler],
        database: Database,
        work: UnitOfWorkFactory,
        jetStream: JetStream,
        logger: Logger,
        maxAttempts: Int = 10
    ) {
        self.service = service
        self.handlers = Dictionary(handlers.map { ($0.subject, $0) }, uniquingKeysWith: { first, _ in first })
        self.database = database
        self.work = work
        self.jetStream = jetStream
        self.logger = logger
        self.maxAttempts = maxAttempts
        self.replica = work.ids.make()
    }

    /// Streams this consumer reads: `EVT_AUTH`, …
    public var streams: [String] { Set(handlers.values.map(\.source)).sorted().map(Self.streamName) }

    /// `EVT_AUTH` for `auth`.
    public static func streamName(ofService service: String) -> String { "EVT_" + service.uppercased() }

    /// Hears all streams until the task is cancelled, and then deals with what has arrived. A stream that does not exist yet, a broker or a
    /// database that is away are waited for; one stream never waits for another.
    public func run() async {
        await withTaskGroup(of: Void.self) { tasks in
            for stream in streams { tasks.addTask { [self] in await hear(stream: stream) } }
        }
    }

    /// Events that the broker still holds for this consumer, and those tried again, without the parked ones.
    public func backlog() async throws -> Int {
        var total = 0
        for stream in streams {
            let info = try await jetStream.consumerInfo(stream: stream, durable: service)
            total += info.pending + info.ackPending
        }
        // What waits behind a parked event does not count: nothing happens to it until an operator acts.
        let rows = try await database.query(
            """
            SELECT count(*) FROM event_retry AS waiting WHERE parked_at IS NULL AND NOT EXISTS (
                SELECT 1 FROM event_retry AS parked
                WHERE parked.aggregate = waiting.aggregate AND parked.position < waiting.position AND parked.parked_at IS NOT NULL)
            """
        )
        return total + (try rows.first?.decode(as: Int.self) ?? 0)
    }

    /// One batch: aggregates side by side, the events of one in order.
    func hear(_ batch: [JetStreamMessage], _ hearing: StreamHearing) async {
        var groups: [String: [JetStreamMessage]] = [:]
        for message in batch {
            guard handlers[message.subject] != nil else {
                message.ack()
                continue
            }
            groups[message.headers[StoredEvent.aggregateHeader] ?? "", default: []].append(message)
        }
        // A slow handler must not make the broker deliver the batch again.
        let patience = Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(2))
                if !Task.isCancelled { for message in batch { message.inProgress() } }
            }
        }
        await withTaskGroup(of: Void.self) { tasks in
            for group in groups.values {
                tasks.addTask { [self] in
                    for message in group where await !hear(message, hearing) { break }
                }
            }
        }
        patience.cancel()
    }

    /// - Returns: false when this replica's turn has ended: the event, and those after it, are left to the next one.
    private func hear(_ message: JetStreamMessage, _ hearing: StreamHearing) async -> Bool {
        guard let event = StoredEvent(message), let handler = handlers[message.subject] else {
            logger.error("an event without id was dropped", metadata: ["subject": "\(message.subject)"])
            message.term()
            return true
        }
        var tries = 0
        while hearing.isHeld {
            do {
                guard try await apply(event, with: handler, hearing.lease) else {
                    hearing.lose()
                    return false
                }
                message.ack()
                return true
            } catch {
                tries += 1
                logger.warning("an event waits", metadata: ["event": "\(event.id)", "error": "\(error)"])
            }
            guard hearing.mayWait else { return false }
            try? await Task.sleep(for: .milliseconds(min(1_000, 20 << min(tries, 6))))
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
