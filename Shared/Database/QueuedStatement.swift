internal import Loop
internal import Synchronization

/// A statement that a transaction sends with its next one (`Transaction.enqueue`). Its answer may be asked for, or not.
public final class QueuedStatement: Sendable {
    private enum State {
        case open(waiting: [UnsafeContinuation<ResultBox, any Error>])
        case ended(Result<ResultBox, any Error>)
    }

    private let state = Mutex(State.open(waiting: []))
    private let queue: any StatementSender
    private let kind: StatementKind
    private let observer: (any DatabaseObserver)?
    private let whenEnded: (@Sendable (Result<ResultBox, any Error>) -> Void)?
    private let queuedAt = monotonicNanoseconds()

    /// - Parameter whenEnded: called with the answer; must not block.
    init(
        _ queue: any StatementSender,
        _ kind: StatementKind = .statement,
        observer: (any DatabaseObserver)?,
        whenEnded: (@Sendable (Result<ResultBox, any Error>) -> Void)? = nil
    ) {
        (self.queue, self.kind, self.observer, self.whenEnded) = (queue, kind, observer, whenEnded)
    }

    /// The rows it returned. Sends it first when that has not happened yet.
    ///
    /// - Throws: as `Transaction.query`.
    public func rows() async throws -> [Row] { try await result().rows }

    /// The number of rows it changed. Sends it first when that has not happened yet.
    ///
    /// - Throws: as `Transaction.execute`.
    public func affectedRows() async throws -> Int { try await result().affectedRows }

    func result() async throws -> ResultBox {
        if case .ended(let result) = state.withLock({ $0 }) { return try result.mapError { queue.cause(of: $0) }.get() }
        queue.send()
        do {
            return try await withTaskCancellationHandler {
                try await withUnsafeThrowingContinuation { continuation in
                    let ended = state.withLock { state -> Result<ResultBox, any Error>? in
                        switch state {
                        case .open(let waiting):
                            state = .open(waiting: waiting + [continuation])
                            return nil
                        case .ended(let result): return result
                        }
                    }
                    if let ended { continuation.resume(with: ended) }
                }
            } onCancel: {
                queue.cancel()
            }
        } catch {
            throw queue.cause(of: error)
        }
    }

    /// The answer is there; called once.
    func end(with result: Result<ResultBox, any Error>) {
        if case .failure(let error) = result { queue.failed(error) }
        if let observer {
            let duration = Duration.nanoseconds(Int64(clamping: monotonicNanoseconds() - queuedAt))
            switch result {
            case .success: observer.statementEnded(kind, error: nil, duration: duration)
            case .failure(let error as DatabaseError): observer.statementEnded(kind, error: error.code, duration: duration)
            // A cancelled statement is not a failure.
            case .failure: break
            }
        }
        let waiting = state.withLock { state -> [UnsafeContinuation<ResultBox, any Error>] in
            defer { state = .ended(result) }
            if case .open(let waiting) = state { return waiting }
            return []
        }
        for continuation in waiting { continuation.resume(with: result) }
        whenEnded?(result)
    }
}

/// What sends the queued statements of a transaction.
protocol StatementSender: Sendable {
    /// A statement was queued whose answer is asked for: sends what waits.
    func send()
    /// The task that waits for an answer was cancelled.
    func cancel()
    /// A queued statement has failed.
    func failed(_ error: any Error)
    /// What to throw to the caller of a statement that failed.
    func cause(of error: any Error) -> any Error
}

/// The statements of a transaction that wait for its next one, and what became of those that were sent.
final class StatementQueue: StatementSender {
    private struct State {
        var waiting: [Job] = []
        /// Sent, and perhaps not answered yet; dropped once a statement that was waited for has succeeded.
        var sent: [Job] = []
        /// The first failure of a queued statement: what every later failure comes from.
        var failure: (any Error)?
        var mayRunAgain = false
        /// The task was cancelled: what is sent now is cancelled with it.
        var isCancelled = false
    }

    /// Most statements that wait; more are sent without waiting for the next.
    private static let most = 64

    private let reactor: Reactor
    private let lease: Lease
    private let state = Mutex(State())

    init(_ reactor: Reactor, _ lease: Lease) { (self.reactor, self.lease) = (reactor, lease) }

    /// - Parameter whenEnded: called with the answer; must not block.
    /// - Throws: `DatabaseError` `invalidValue`.
    @discardableResult
    func append(_ query: Query, whenEnded: (@Sendable (Result<ResultBox, any Error>) -> Void)? = nil) throws -> QueuedStatement {
        let job = try Job(query, lease: lease)
        let statement = QueuedStatement(self, observer: reactor.observer, whenEnded: whenEnded)
        job.queued = statement
        let isFull = state.withLock { state in
            state.waiting.append(job)
            return state.waiting.count >= Self.most
        }
        if isFull { send() }
        return statement
    }

    /// Sends what waits.
    func send() { _ = send(with: nil) }

    /// Sends what waits, and a statement behind it, in one go.
    ///
    /// - Returns: false when the loop has ended and will not answer `last`.
    func send(with last: Job?) -> Bool {
        // Posted under the lock: of two tasks, neither overtakes what the other has queued.
        let (isPosted, refused) = state.withLock { state -> (Bool, [Job]) in
            let jobs = state.waiting
            state.waiting = []
            guard !jobs.isEmpty || last != nil else { return (true, []) }
            let withdrawn = state.isCancelled ? jobs.map(Mailbox.Command.cancel) : []
            let commands = withdrawn + (jobs + [last].compactMap(\.self)).map(Mailbox.Command.submit)
            guard reactor.mailbox.post(commands) else { return (false, jobs) }
            state.sent += jobs
            return (true, [])
        }
        for job in refused { job.answer(.failure(DatabaseError(.stopped))) }
        return isPosted
    }

    /// The task was cancelled: what was sent is withdrawn, or stopped on the server.
    func cancel() {
        state.withLock { state in
            state.isCancelled = true
            _ = reactor.mailbox.post(state.sent.map(Mailbox.Command.cancel))
        }
    }

    /// Sends what waits and then the commit.
    ///
    /// - Parameter whenEnded: called with its answer; must not block.
    func commit(whenEnded: @escaping @Sendable (Result<ResultBox, any Error>) -> Void) {
        let job = Job(text: "COMMIT", role: .commit, lease: lease)
        job.queued = QueuedStatement(self, .commit, observer: reactor.observer, whenEnded: whenEnded)
        if !send(with: job) { job.answer(.failure(DatabaseError(.stopped))) }
    }

    /// Rolls back.
    ///
    /// - Parameter whenEnded: called when it has happened, or the connection is lost; must not block.
    func rollback(whenEnded: @escaping @Sendable () -> Void) {
        discard()
        let job = Job(text: "ROLLBACK", role: .rollback, lease: lease)
        job.queued = QueuedStatement(self, .rollback, observer: reactor.observer) { _ in whenEnded() }
        if !reactor.mailbox.post(.submit(job)) { job.answer(.failure(DatabaseError(.stopped))) }
    }

    /// The transaction is rolled back: what waits is not sent any more.
    func discard() {
        let jobs = state.withLock { state -> [Job] in
            defer { state.waiting = [] }
            return state.waiting
        }
        for job in jobs { job.answer(.failure(DatabaseError(.leaseEnded))) }
    }

    /// Everything sent so far has succeeded.
    func succeeded() { state.withLock { $0.sent.removeAll(keepingCapacity: true) } }

    func failed(_ error: any Error) {
        state.withLock { state in
            if state.failure == nil { state.failure = error }
        }
    }

    /// What to throw to the caller of a statement, or of the commit, that failed: the failure of the queued statement that it comes from.
    func cause(of error: any Error) -> any Error {
        var cause = error
        if (error as? DatabaseError)?.code == .transactionAborted, let first = state.withLock({ $0.failure }) { cause = first }
        // Whatever of the transaction ran when its task was cancelled was stopped.
        if Task.isCancelled, (cause as? DatabaseError)?.code == .statementTimeout { cause = CancellationError() }
        note(cause)
        return cause
    }

    private func note(_ error: any Error) {
        guard let error = error as? DatabaseError, error.isRetryable else { return }
        state.withLock { $0.mayRunAgain = true }
    }

    /// Whether the transaction should be run again: a failure that passes, even when the body turned it into another error.
    var isWorthAnotherRun: Bool { state.withLock { $0.mayRunAgain } }
}
