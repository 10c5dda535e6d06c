public import Kernel
public import Logging
internal import Synchronization

/// A service's database: a small pool of pipelined connections, driven by one thread of its own (D7).
///
/// Single statements share connections; a transaction or session has one to itself. The server may be away when it starts, or go away
/// later: statements then wait for at most `acquireTimeout`, `health` shows it, and connections come back by themselves.
///
/// A result is held in memory as a whole: a statement whose rows nobody has counted needs a `LIMIT`. What is sent on one connection runs
/// in order, so a slow single statement delays those behind it; long ones belong in a session.
///
/// What happens to a statement whose connection dies: one that only reads is sent once more; one that was not sent yet waits for another
/// connection; a change fails with `outcomeUnknown` and is never repeated. Inside a transaction everything fails with `connectionLost`,
/// and the transaction is run again, unless its commit was on its way.
///
/// Every statement ends at the latest `acquireTimeout`, its time limit and 7 s after it was asked for, whatever becomes of the server, the
/// network and the statements before it: a read then fails with `statementTimeout`, a change with `outcomeUnknown`, and a transaction or
/// session loses its connection.
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

    /// A database that is not started yet.
    ///
    /// - Parameter observer: Is told of every statement.
    public init(_ configuration: DatabaseConfiguration, logger: Logger, observer: (any DatabaseObserver)? = nil) {
        self.configuration = configuration
        self.logger = logger
        self.observer = observer
    }

    deinit {
        if case .running(let reactor) = phase.withLock({ $0 }) { _ = reactor.mailbox.post(.abandon) }
    }

    /// Starts connecting; returns when all connections are up or an attempt has failed, and does not fail when the server is away. Starting twice does nothing.
    ///
    /// - Throws: `DatabaseError` `configuration` when a setting makes no sense, `stopped` after `stop`, `unavailable` when the system has no
    ///   more threads or descriptors; it may then be started again.
    public func start() async throws {
        try configuration.validate()
        let reactor: Reactor? = try phase.withLock { phase in
            switch phase {
            case .new:
                let reactor = try Reactor(configuration, logger: logger, observer: observer)
                phase = .running(reactor)
                return reactor
            case .running: return nil
            case .stopped: throw DatabaseError(.stopped)
            }
        }
        do {
            try await reactor?.start()
        } catch {
            // No thread reads its mailbox: starting again is another reactor's.
            phase.withLock { phase in
                if case .running(let current) = phase, current === reactor { phase = .new }
            }
            throw error
        }
    }

    /// Lets what runs finish, for at most `stopTimeout`, and closes all connections. Statements from now on fail with `stopped`.
    public func stop() async {
        let reactor: Reactor? = phase.withLock { phase in
            defer { phase = .stopped }
            if case .running(let reactor) = phase { return reactor } else { return nil }
        }
        guard let reactor else { return }
        await withUnsafeContinuation { if !reactor.mailbox.post(.stop($0)) { $0.resume() } }
    }

    /// What the pool looks like now.
    public var health: DatabaseHealth {
        if case .running(let reactor) = phase.withLock({ $0 }) { reactor.currentHealth } else { DatabaseHealth() }
    }

    /// The schema that unqualified names mean.
    public var schema: String { configuration.schema }

    /// Runs one statement, which commits for itself, and returns its rows.
    ///
    /// - Throws: `DatabaseError`; `CancellationError` when the task is cancelled and the statement had no effect.
    public func query(_ query: Query) async throws -> [Row] { try await reactor().perform(query).rows }

    /// Runs one statement, which commits for itself, and returns the number of rows it changed.
    ///
    /// - Throws: `DatabaseError`; `CancellationError` when the task is cancelled and the statement had no effect.
    @discardableResult
    public func execute(_ query: Query) async throws -> Int { try await reactor().perform(query).affectedRows }

    /// Runs `body` in a transaction: commits when it returns, rolls back when it throws.
    ///
    /// The sequence: body's first statement takes a connection and `BEGIN` goes with it; body's end is followed by `COMMIT`. When the
    /// server refuses to serialise it, ends it to break a deadlock, or the connection dies before the commit, everything is rolled back
    /// and body runs again after a short pause. So body must have no effect but through its transaction, and must not use the database
    /// beside it (which may wait for locks it holds itself).
    ///
    /// - Parameters:
    ///   - isolation: default read committed, as PostgreSQL's own.
    ///   - retries: runs after the first, at most; default 3.
    ///   - body: what to do; gets the transaction, which ends with it.
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
                guard transaction.isWorthAnotherRun, failures <= retries, !Task.isCancelled else { throw error }
                let pause = backoff.delay(failures: failures, seed: monotonicNanoseconds())
                try await Task.sleep(for: .nanoseconds(Int64(clamping: pause)))
            }
        }
    }

    /// Runs `body` with a connection of its own; afterwards its settings, advisory locks and temporary tables are gone.
    ///
    /// - Parameters:
    ///   - statementTimeout: instead of the configured one.
    ///   - body: what to do; gets the session, which ends with it.
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

    private func reactor() throws -> Reactor {
        guard case .running(let reactor) = phase.withLock({ $0 }) else { throw DatabaseError(.stopped) }
        return reactor
    }
}
