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
    private let requestID: String
    private let emission: Emission
    /// What protective events of it are for; nil when no reply waits for them.
    private let protection: ProtectionKey?

    /// Most bytes of an event: what every broker takes, with room for headers. More would never leave the outbox.
    public static let mostEventBytes = 900 << 10
    /// Bytes of events that one statement carries, about.
    private static let mostBytesAtOnce = 4 << 20

    /// Whether there is anything for the relay, and who else is to look when the transaction has ended.
    final class Emission: Sendable {
        private let happened = Atomic(false)
        private let watchers = Mutex<[@Sendable () -> Void]>([])
        var hasHappened: Bool { happened.load(ordering: .relaxed) }
        func note() { happened.store(true, ordering: .relaxed) }
        func add(_ watcher: @escaping @Sendable () -> Void) { watchers.withLock { $0.append(watcher) } }
        func end() { for watcher in watchers.withLock({ $0 }) { watcher() } }
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
    public func whenEnded(_ wake: @escaping @Sendable () -> Void) { emission.add(wake) }

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

    /// Writes events to the outbox, in order; they leave after the commit. The rows are sent with the next statement or the commit.
    ///
    /// Events of one aggregate keep their order when the transactions that emit them exclude each other: change the aggregate's row first.
    ///
    /// - Throws: `WireError` when an event cannot be encoded, `ServiceError` when the broker could never take it (more than
    ///   `mostEventBytes`, control characters in a header), `DatabaseError` when the transaction fails.
    public func emit(_ events: [any Event]) async throws {
        var rows: [StoredEvent] = []
        var bytes = 0
        for event in events {
            let row = try stored(event)
            if bytes + row.body.count > Self.mostBytesAtOnce {
                // So much is not kept waiting.
                _ = try await insert(rows)?.affectedRows()
                (rows, bytes) = ([], 0)
            }
            rows.append(row)
            bytes += row.body.count
        }
        _ = try insert(rows)
    }

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

    /// One statement; positions are given out in the order of the rows.
    private func insert(_ rows: [StoredEvent]) throws -> QueuedStatement? {
        guard !rows.isEmpty else { return nil }
        emission.note()
        var protects: Query = "NULL::uuid"
        if let protection { protects = "CASE WHEN subject = ANY(\(ProtectiveEvents.subjects)) THEN \(protection)::uuid END" }
        return try sql.enqueue(
            """
            INSERT INTO outbox (id, aggregate, subject, trace, request_id, body, protects)
            SELECT id, aggregate, subject, \(trace), \(requestID), body, \(protects)
            FROM unnest(\(rows.map(\.id)), \(rows.map(\.aggregate)), \(rows.map(\.subject)), \(rows.map(\.body)))
                WITH ORDINALITY AS event (id, aggregate, subject, body, place)
            ORDER BY place
            """
        )
    }

    /// Writes one event to the outbox.
    public func emit(_ event: any Event) async throws { try await emit([event]) }
}

/// Opens units of work on a service's database and wakes the relay when one with events has been committed.
public struct UnitOfWorkFactory: Sendable {
    private let database: Database
    private let clock: any Clock
    let ids: any IDSource
    private let relay: OutboxRelay?

    /// - Parameters:
    ///   - database: the service's own.
    ///   - relay: what publishes the committed events; nil in a command, whose events a running replica finds a moment later.
    public init(database: Database, clock: any Clock, ids: any IDSource, relay: OutboxRelay?) {
        self.database = database
        self.clock = clock
        self.ids = ids
        self.relay = relay
    }

    /// The instant that a unit of work begun now would carry.
    public func now() -> Instant { clock.now() }

    /// Runs `body` in one transaction; commits when it returns, rolls back when it throws.
    ///
    /// The body may run more than once (serialization failures are retried), so it must have no effect but through `UnitOfWork`.
    public func run<Result: Sendable>(
        _ context: CallContext,
        isolation: Isolation = .readCommitted,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Result
    ) async throws -> Result {
        try await run(trace: context.trace.description, requestID: context.requestID, isolation: isolation, body)
    }

    /// The same for work that no request asked for: due rows, events.
    public func run<Result: Sendable>(
        trace: String,
        requestID: String,
        isolation: Isolation = .readCommitted,
        _ body: @escaping @Sendable (UnitOfWork) async throws -> Result
    ) async throws -> Result {
        let (clock, ids, emission) = (clock, ids, UnitOfWork.Emission())
        // Also when the outcome is unknown: the events may lie there.
        defer {
            if emission.hasHappened { relay?.wake() }
            emission.end()
        }
        return try await database.transaction(isolation: isolation) { sql in
            try await body(
                UnitOfWork(sql: sql, now: clock.now(), ids: ids, trace: trace, requestID: requestID, emission: emission)
            )
        }
    }
}
