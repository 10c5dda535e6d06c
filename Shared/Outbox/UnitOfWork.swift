public import Bus
public import Database
public import Kernel
private import Synchronization
public import Wire

/// One transaction of a service and the events it causes: rows and outbox rows are committed together or not at all (D5).
public struct UnitOfWork: Sendable {
    /// The open transaction; SQL lives in repositories only.
    public let sql: Transaction
    /// The instant of this change, the same for all of it.
    public let now: Instant
    /// Where new ids come from.
    public let ids: any IDSource
    private let trace: String
    /// Of the client's request that this is done for, as in the logs; of what an event causes that of the request that caused the event.
    public let requestID: String
    private let emission: Emission
    /// What protective events of it are for; nil when no reply waits for them.
    private let protection: ProtectionKey?

    /// Most bytes of an event: what every broker takes, with room for headers. More would never leave the outbox.
    public static let mostEventBytes = 900 << 10
    /// Bytes of events that one statement carries, about.
    private static let mostBytesAtOnce = 4 << 20

    /// The events of a transaction that are not written yet, and who else is to look when it has ended.
    final class Emission: Sendable {
        /// An event, and for which reply it is protective.
        struct Row: Sendable {
            let event: StoredEvent
            let protection: ProtectionKey?
        }

        private struct State {
            var hasHappened = false
            var rows: [Row] = []
            var bytes = 0
            /// Makes events of what the whole transaction has come to.
            var last: [@Sendable () -> (any Event)?] = []
            var watchers: [@Sendable () -> Void] = []
        }

        private let state = Mutex(State())

        /// Whether there is anything for the relay.
        var hasHappened: Bool { state.withLock { $0.hasHappened } }

        func watch(_ watcher: @escaping @Sendable () -> Void) { state.withLock { $0.watchers.append(watcher) } }
        func end() { for watcher in state.withLock({ $0.watchers }) { watcher() } }

        /// - Returns: the bytes that wait now.
        func add(_ row: Row) -> Int {
            state.withLock { state in
                state.hasHappened = true
                state.rows.append(row)
                state.bytes += row.event.body.count
                return state.bytes
            }
        }

        func addLast(_ make: @escaping @Sendable () -> (any Event)?) { state.withLock { $0.last.append(make) } }

        /// What `addLast` was given, each once.
        func takeLast() -> [@Sendable () -> (any Event)?] {
            state.withLock { state in
                defer { state.last = [] }
                return state.last
            }
        }

        func take() -> [Row] {
            state.withLock { state in
                defer { (state.rows, state.bytes) = ([], 0) }
                return state.rows
            }
        }
    }

    init(
        sql: Transaction,
        now: Instant,
        ids: any IDSource,
        trace: String,
        requestID: String,
        emission: Emission,
        protection: ProtectionKey? = nil
    ) {
        self.sql = sql
        self.now = now
        self.ids = ids
        self.trace = trace
        self.requestID = requestID
        self.emission = emission
        self.protection = protection
    }

    /// The same unit of work on behalf of the request that caused an event.
    func continuing(_ event: StoredEvent) -> UnitOfWork {
        UnitOfWork(
            sql: sql,
            now: now,
            ids: ids,
            trace: event.trace,
            requestID: event.requestID,
            emission: emission,
            protection: event.id.cast(to: ProtectiveEvents.self)
        )
    }

    /// Has `wake` called when the transaction has ended: committed, rolled back, or with an unknown outcome.
    ///
    /// - Parameter wake: makes a job of this replica look for rows at once that it would find by itself a moment later. It must not block,
    ///   and may be called more than once.
    public func whenEnded(_ wake: @escaping @Sendable () -> Void) { emission.watch(wake) }

    /// The same unit of work, of which protective events are marked: a reply waits until they have been applied (D21).
    ///
    /// - Parameter key: what the reply will ask for.
    public func protecting(_ key: ProtectionKey) -> UnitOfWork {
        UnitOfWork(
            sql: sql,
            now: now,
            ids: ids,
            trace: trace,
            requestID: requestID,
            emission: emission,
            protection: key
        )
    }

    /// Writes events to the outbox, in order; they leave after the commit. All rows of a transaction are sent with its commit, as one statement.
    ///
    /// Events of one aggregate keep their order when the transactions that emit them exclude each other: change the aggregate's row first.
    ///
    /// - Throws: `WireError` when an event cannot be encoded, `ServiceError` when the broker could never take it (more than
    ///   `mostEventBytes`, control characters in a header), `DatabaseError` when the transaction fails.
    public func emit(_ events: [any Event]) async throws {
        for event in events {
            let isProtective = ProtectiveEvents.features[type(of: event).subject] != nil
            let row = Emission.Row(event: try stored(event), protection: isProtective ? protection : nil)
            // So much is not kept waiting.
            if emission.add(row) > Self.mostBytesAtOnce { _ = try await writeEvents()?.affectedRows() }
        }
    }

    /// Emits what `make` gives when the body of the transaction has returned: one event about all that it has come to, after those that were
    /// emitted before. It carries the trace of the transaction, not of an event that is handled in it.
    ///
    /// - Parameter make: called once, if nothing was thrown; nil: there is nothing to emit. It must not block.
    public func emitLast(_ make: @escaping @Sendable () -> (any Event)?) { emission.addLast(make) }

    /// Writes one event to the outbox.
    public func emit(_ event: any Event) async throws { try await emit([event]) }

    private func stored(_ event: any Event) throws -> StoredEvent {
        let row = StoredEvent(
            id: ids.make(),
            aggregate: event.aggregateID,
            subject: type(of: event).subject,
            trace: trace,
            requestID: requestID,
            body: try event.serialized()
        )
        // Checked here, where it fails its own cause: in the outbox it would hold up everything behind it.
        try row.headers.check()
        guard row.body.count <= Self.mostEventBytes else { throw ServiceError.internal }
        return row
    }

    /// Sends the rows of events that wait, with the next statement or the commit; positions are given out in their order.
    @discardableResult
    func writeEvents() throws -> QueuedStatement? {
        let rows = emission.take()
        guard !rows.isEmpty else { return nil }
        let events = rows.map(\.event)
        return try sql.enqueue(
            """
            INSERT INTO outbox (id, aggregate, subject, trace, request_id, body, protects)
            SELECT id, aggregate, subject, trace, request_id, body, protects
            FROM \(rows: .of(events.map(\.id)), .of(events.map(\.aggregate)), .of(events.map(\.subject)),
                .of(events.map(\.trace)), .of(events.map(\.requestID)), .of(events.map(\.body)), .of(rows.map(\.protection)),
                .of(Array(rows.indices))) AS event (id, aggregate, subject, trace, request_id, body, protects, place)
            ORDER BY place
            """
        )
    }
}

/// Opens units of work on a service's database and wakes the relay when one with events has been committed.
public struct UnitOfWorkFactory: Sendable {
    private let database: Database
    private let clock: any Clock
    let ids: any IDSource
    private let relay: OutboxRelay?
    private let shared: SharedTransactions

    /// - Parameters:
    ///   - database: the service's own.
    ///   - relay: what publishes the committed events; nil in a command, whose events a running replica finds a moment later.
    public init(database: Database, clock: any Clock, ids: any IDSource, relay: OutboxRelay?) {
        self.database = database
        self.clock = clock
        self.ids = ids
        self.relay = relay
        shared = SharedTransactions(database)
    }

    /// The instant that a unit of work begun now would carry.
    public func now() -> Instant { clock.now() }

    /// Runs `body` in one transaction; commits when it returns, rolls back when it throws.
    ///
    /// The body may run more than once (serialization failures are retried), so it must have no effect but through `UnitOfWork`.
    ///
    /// - Parameter owner: whose rows alone it changes and locks, when it may run together with those of others (`SharedTransactions`), with
    ///   read committed isolation; nil: it runs by itself.
    public func run<Result: Sendable>(
        _ context: CallContext,
        isolation: Isolation = .readCommitted,
        sharedBy owner: String? = nil,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Result
    ) async throws -> Result {
        let (trace, requestID) = (context.trace.description, context.requestID)
        return try await run(trace: trace, requestID: requestID, isolation: isolation, sharedBy: owner, body)
    }

    /// The same for work that no request asked for: due rows, events.
    public func run<Result: Sendable>(
        trace: String,
        requestID: String,
        isolation: Isolation = .readCommitted,
        sharedBy owner: String? = nil,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Result
    ) async throws -> Result {
        let (clock, ids, emission) = (clock, ids, UnitOfWork.Emission())
        // Also when the outcome is unknown: the events may lie there.
        defer {
            if emission.hasHappened { relay?.wake() }
            emission.end()
        }
        func attempt(_ sql: Transaction) async throws -> Result {
            // Of an attempt that was rolled back.
            _ = (emission.takeLast(), emission.take())
            let work = UnitOfWork(sql: sql, now: clock.now(), ids: ids, trace: trace, requestID: requestID, emission: emission)
            let result = try await body(work)
            for make in emission.takeLast() { if let event = make() { try await work.emit(event) } }
            try work.writeEvents()
            return result
        }
        guard let owner else { return try await database.transaction(isolation: isolation, attempt) }
        return try await shared.transaction(of: owner, attempt)
    }
}
