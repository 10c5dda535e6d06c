public import Kernel
public import Logging
public import Loop
internal import Synchronization

/// A service's database: a small pool of pipelined connections, driven by one thread of its own (D7).
///
/// Single statements share connections; a transaction or session has one of its own. The server may be down at start or later: `health`
/// shows it, and the pool reconnects by itself. While no connection is up, statements wait until the first attempt to connect has ended, at
/// most `reconnectWait`; once one has failed they fail at once with `unavailable`. A server that says nothing is asked for a further
/// connection; one that does not take it counts as away too (D20).
///
/// A result is held in memory as a whole: use `LIMIT` where the number of rows is not bounded. Statements on one connection run in
/// order, so a slow single statement delays those behind it; use a session for long ones.
///
/// When a connection dies, a statement that only reads is sent once more; one that was not sent yet waits for another connection; a
/// change fails with `outcomeUnknown` and is never repeated. Inside a transaction all statements fail with `connectionLost`, and
/// the transaction is run again, unless its commit was in flight.
///
/// Every statement ends at the latest after `acquireTimeout` plus its time limit plus 7 s, whatever happens to the server, the
/// network and the statements before it. A read then fails with `statementTimeout`, a change with `outcomeUnknown`, and a
/// transaction or session loses its connection.
public final class Database: QueryExecutor {
    private enum Phase {
        case new
        case running(Reactor)
        case stopped
    }

    private let configuration: DatabaseConfiguration
    private let logger: Logger
    private let observer: (any DatabaseObserver)?
    private let phase = Mutex(Phase.new)

    /// A database; call `start` to connect.
    ///
    /// - Parameter observer: Notified of every statement.
    public init(_ configuration: DatabaseConfiguration, logger: Logger, observer: (any DatabaseObserver)? = nil) {
        self.configuration = configuration
        self.logger = logger
        self.observer = observer
    }

    deinit {
        if case .running(let reactor) = phase.withLock({ $0 }) { _ = reactor.mailbox.post(.abandon) }
    }

    /// Starts connecting. Returns when all connections are up or an attempt has failed; it does not fail when the server is down. A
    /// second start does nothing.
    ///
    /// - Parameter loop: drives the connections; it must run for longer than the database. nil: a thread of its own.
    /// - Throws: `DatabaseError` `configuration` for an invalid setting, `stopped` after `stop`, `unavailable` when the system has
    ///   no more threads or descriptors; then it may be started again.
    public func start(on loop: IOLoop? = nil) async throws {
        try configuration.validate()
        let reactor: Reactor? = try phase.withLock { phase in
            switch phase {
            case .new:
                let reactor = try Reactor(configuration, loop: loop, logger: logger, observer: observer)
                phase = .running(reactor)
                return reactor
            case .running: return nil
            case .stopped: throw DatabaseError(.stopped)
            }
        }
        do {
            try await reactor?.start()
        } catch {
            // No thread reads its mailbox, so the next start makes another reactor.
            phase.withLock { phase in
                if case .running(let current) = phase, current === reactor { phase = .new }
            }
            throw error
        }
    }

    /// Waits for running statements, at most `stopTimeout`, and closes all connections. Later statements fail with `stopped`.
    public func stop() async {
        let reactor: Reactor? = phase.withLock { phase in
            defer { phase = .stopped }
            if case .running(let reactor) = phase { return reactor } else { return nil }
        }
        guard let reactor else { return }
        await withUnsafeContinuation { if !reactor.mailbox.post(.stop($0)) { $0.resume() } }
    }

    /// The present state of the pool.
    public var health: DatabaseHealth {
        if case .running(let reactor) = phase.withLock({ $0 }) { reactor.currentHealth } else { DatabaseHealth() }
    }

    /// The schema of unqualified names.
    public var schema: String { configuration.schema }

    /// Runs one statement, which commits for itself, and returns its rows.
    ///
    /// - Throws: `DatabaseError`; `CancellationError` when the task is cancelled and the statement had no effect.
    public func query(_ query: Query) async throws -> [Row] { try await reactor().perform(query).rows }

    /// Runs a statement that only reads and finds a few rows by their keys, and returns them, as `query` does. Under load it costs a fraction of
    /// that: statements of one text that wait at the same time, up to 32, are sent as one, so that one plan is set up, run and answered for
    /// all. When that fails, each is run by itself.
    ///
    /// Not for statements that read much: who comes later would wait for all of them.
    ///
    /// - Throws: as `query`.
    public func lookup(_ query: Query) async throws -> [Row] { try await reactor().perform(query, isLookup: true).rows }

    /// Runs one statement, which commits for itself, and returns the number of rows it changed.
    ///
    /// - Throws: `DatabaseError`; `CancellationError` when the task is cancelled and the statement had no effect.
    @discardableResult
    public func execute(_ query: Query) async throws -> Int { try await reactor().perform(query).affectedRows }

    /// Runs statements that only read, at the same time, each by itself: what they see may differ by changes committed meanwhile.
    ///
    /// - Returns: the rows of each, in the order of `queries`.
    /// - Throws: as `query`; the first failure.
    public func query(together queries: [Query]) async throws -> [[Row]] { try await perform(queries, areLookups: false) }

    /// Runs lookups at the same time, each as by `lookup`: what they see may differ by changes committed meanwhile.
    ///
    /// - Returns: the rows of each, in the order of `queries`.
    /// - Throws: as `query`; the first failure.
    public func lookup(together queries: [Query]) async throws -> [[Row]] { try await perform(queries, areLookups: true) }

    private func perform(_ queries: [Query], areLookups: Bool) async throws -> [[Row]] {
        let reactor = try reactor()
        return try await withThrowingTaskGroup(of: Answer.self) { group in
            for (index, query) in queries.enumerated() {
                group.addTask { Answer(index: index, rows: try await reactor.perform(query, isLookup: areLookups).rows) }
            }
            var rows = [[Row]](repeating: [], count: queries.count)
            for try await answer in group { rows[answer.index] = answer.rows }
            return rows
        }
    }

    /// The answer to one of several queries.
    private struct Answer: Sendable {
        let index: Int
        let rows: [Row]
    }

    /// Runs `body` in a transaction: commits when it returns, rolls back when it throws.
    ///
    /// The sequence: body's first statement leases a connection and sends `BEGIN` with it; `COMMIT` follows body's end. After a
    /// serialisation failure (also one that body throws, because of what it has found), a deadlock, or a connection lost before the commit,
    /// everything is rolled back and body runs again after a short pause. So body must have effects only through its transaction, and must not use the database beside it (which
    /// may wait for its own locks).
    ///
    /// - Parameters:
    ///   - isolation: default read committed, as in PostgreSQL.
    ///   - retries: most runs after the first; default 3.
    ///   - body: gets the transaction, which ends with it.
    /// - Throws: what body throws, or `DatabaseError`: `outcomeUnknown` when the connection died during the commit.
    nonisolated(nonsending) public func transaction<Result>(
        isolation: Isolation = .readCommitted,
        retries: Int = 3,
        _ body: (Transaction) async throws -> Result
    ) async throws -> Result {
        let reactor = try reactor()
        let backoff = Backoff(first: 4_000_000, limit: 200_000_000)
        var failures = 0
        while true {
            let transaction = Transaction(reactor, isolation)
            do {
                let result = try await body(transaction)
                try await transaction.commit()
                return result
            } catch {
                await transaction.rollback()
                failures += 1
                let mayRunAgain = transaction.isWorthAnotherRun || (error as? DatabaseError)?.isRetryable == true
                guard mayRunAgain, failures <= retries, !Task.isCancelled else { throw error }
                let pause = backoff.delay(failures: failures, seed: monotonicNanoseconds())
                try await Task.sleep(for: .nanoseconds(Int64(clamping: pause)))
            }
        }
    }

    /// Runs `body` with a connection of its own; afterwards its settings, advisory locks and temporary tables are gone.
    ///
    /// - Parameters:
    ///   - statementTimeout: instead of the configured one.
    ///   - body: gets the session, which ends with it.
    /// - Throws: what body throws.
    nonisolated(nonsending) public func withSession<Result>(
        statementTimeout: Interval? = nil,
        _ body: (DatabaseSession) async throws -> Result
    ) async throws -> Result {
        let session = DatabaseSession(try reactor(), statementTimeout: statementTimeout)
        do {
            let result = try await body(session)
            await session.end()
            return result
        } catch {
            await session.end()
            throw error
        }
    }

    func reactor() throws -> Reactor {
        guard case .running(let reactor) = phase.withLock({ $0 }) else { throw DatabaseError(.stopped) }
        return reactor
    }
}
