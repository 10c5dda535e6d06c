/// Sending statements and giving their answers back. On the loop's thread only.
extension Reactor {
    /// Reads that share one sync at most: enough to save most of its cost, few enough that the first does not wait for many.
    private static let batch = 16
    /// How long a server may say nothing before a connection counts as stalled, in nanoseconds.
    private static let stall: UInt64 = 10_000_000

    func submit(_ job: Job) {
        accept(job)
        if job.isCancelled { return finish(job, .failure(CancellationError())) }
        if stopDeadline != nil, job.lease?.isOpen != true, job.isCancellable {
            return finish(job, .failure(DatabaseError(.stopped)))
        }
        if job.role != .script { job.statement = registry.statement(job.text, types: job.binds.slots.map(\.type.oid)) }
        if let lease = job.lease { return route(job, on: lease) }
        guard pending.count < configuration.maximumWaiting else { return finish(job, .failure(DatabaseError(.overloaded))) }
        job.place = .pending
        pending.append(job)
    }

    /// Gives waiting statements and transactions to connections, as far as there are any.
    func dispatch() {
        grantLeases()
        while let job = pending.first {
            guard job.isPending else {
                pending.removeFirst()
                continue
            }
            guard let connection = leastLoaded(below: configuration.maximumInFlight) else { return }
            // A sync ends an implicit transaction. A change has its own, so that it fails and commits alone; reads may share one, since a
            // read that was skipped because of another's failure can be sent again.
            let isAlone = !job.isRead || job.isRetry
            guard prepare(connection, isAlone: isAlone) else { continue }
            pending.removeFirst()
            hand(job, to: connection, syncing: isAlone || connection.pipeline.unsynced + 1 >= Self.batch)
        }
    }

    /// The shared connection with the least to do; one whose first statement takes long only when all are like that, since what is sent
    /// there waits behind it.
    func leastLoaded(below limit: Int) -> Connection? {
        var best: (connection: Connection, cost: Int)?
        for case let connection? in connections where connection.lease == nil && connection.isReady && connection.load < limit {
            let isStalled = connection.load > 0 && now > connection.lastProgress + Self.stall
            let cost = connection.load + (isStalled ? 1 << 32 : 0)
            if cost < (best?.cost ?? .max) { best = (connection, cost) }
        }
        return best?.connection
    }

    /// Makes a connection ready for the next statement: ends the batch that it must not share, and frees a statement the cache has dropped.
    /// False when that cost the connection. The statement stays where it waits meanwhile, so that it can still go elsewhere.
    func prepare(_ connection: Connection, isAlone: Bool) -> Bool {
        if connection.pipeline.isEmpty { connection.lastProgress = now }
        mark(connection)
        if isAlone, connection.pipeline.unsynced > 0, !connection.sync() {
            lose(connection)
            return false
        }
        // Never inside a transaction, where a failure would cost it.
        guard connection.lease == nil, connection.pipeline.unsynced == 0, let name = connection.cache.popRetired() else {
            return true
        }
        guard connection.sendUnprepared(Job(text: "DEALLOCATE \(name)", role: .housekeeping)), connection.sync() else {
            lose(connection)
            return false
        }
        return true
    }

    /// Moves a statement that was just taken from where it waited to the connection, and hands it to libpq, with a sync behind it if wanted.
    func hand(_ job: Job, to connection: Connection, syncing: Bool) {
        job.place = .inFlight(slot: connection.slot)
        let statement = job.statement ?? registry.statement(job.text, types: job.binds.slots.map(\.type.oid))
        guard connection.send(job, statement, scratch: &scratch), !syncing || connection.sync() else { return lose(connection) }
    }

    func mark(_ connection: Connection) {
        guard !connection.isMarked else { return }
        connection.isMarked = true
        marked.append(connection)
    }

    /// Closes open batches and writes out.
    func flush() {
        while let connection = marked.popLast() {
            connection.isMarked = false
            guard connections[connection.slot] === connection else { continue }
            if connection.script == nil, connection.pipeline.unsynced > 0, !connection.sync() {
                lose(connection)
                continue
            }
            write(on: connection)
        }
    }

    private func write(on connection: Connection) {
        guard let isMore = connection.flush() else { return lose(connection) }
        watchWriting(connection, isMore)
    }

    // MARK: answers

    /// The socket is ready: reads what there is and deals with it.
    func answer(on connection: Connection) {
        let isAlive = connection.read()
        if isAlive, connection.watchesWriting { write(on: connection) }
        connection.lastProgress = now
        while connections[connection.slot] === connection, !connection.pipeline.isEmpty || connection.script != nil {
            if connection.script != nil {
                guard answerScript(on: connection) else { break }
                continue
            }
            switch connection.nextAnswer() {
            case .outcome(let outcome): connection.pipeline.received(outcome)
            case .end:
                // libpq forgets what it was asked when it finds the connection gone, and then has no answers for ever.
                guard connection.isUp || connection.pipeline.hasOutcome else { return lose(connection) }
                if let action = connection.pipeline.receivedEnd() { perform(action, on: connection) }
            case .sync: for action in connection.pipeline.receivedSync() { perform(action, on: connection) }
            case .dead: return lose(connection)
            case .none:
                if !isAlive { lose(connection) }
                return
            }
        }
        if !isAlive, connections[connection.slot] === connection { return lose(connection) }
        sendHeld(on: connection)
    }

    private func perform(_ action: Pipeline<Job, ResultBox>.Action, on connection: Connection) {
        switch action {
        case .refused(let job):
            if let statement = job.statement, let name = job.statementName {
                connection.cache.remove(statement.id, named: name, retiring: false)
            }
        case .deliver(let job, let outcome):
            deliver(job, outcome, on: connection)
        }
    }

    private func deliver(_ job: Job, _ outcome: Pipeline<Job, ResultBox>.Outcome, on connection: Connection) {
        switch outcome {
        case .success(let result):
            finish(job, .success(result))
        case .skipped:
            guard job.lease == nil, !job.isRetry else {
                finish(job, .failure(DatabaseError(.transactionAborted)))
                break
            }
            sendAgain(job)
        case .failure(let error):
            if mayPrepareAgain(job, after: error, on: connection) { return sendAgain(job) }
            let isWithdrawn = job.isCancelled && error.code == .statementTimeout
            finish(job, .failure(isWithdrawn ? CancellationError() : error))
            if job.role.isCleanUp { return lose(connection) }
            // What follows a BEGIN that failed would run, and commit, outside of any transaction.
            if job.role == .housekeeping, job.lease?.kind == .transaction { return lose(connection) }
        }
        if job.role.endsLease { release(connection) }
    }

    /// Whether the statement failed before it ran, only because its preparation was gone or outdated; forgets that preparation.
    private func mayPrepareAgain(_ job: Job, after error: DatabaseError, on connection: Connection) -> Bool {
        let isUnknown = error.sqlState == "26000"
        guard let statement = job.statement, let name = job.statementName,
            isUnknown || error.sqlState == DatabaseError.stalePlanState
        else { return false }
        connection.cache.remove(statement.id, named: name, retiring: !isUnknown)
        return job.lease == nil && !job.isRetry
    }

    /// Puts a single statement that had no effect back in the queue, once, alone in its sync.
    func sendAgain(_ job: Job) {
        guard job.continuation != nil else { return job.place = .over }
        job.isRetry = true
        job.place = .pending
        pending.append(job)
    }

    /// One answer to a script. False when there is no more for now.
    private func answerScript(on connection: Connection) -> Bool {
        switch connection.nextAnswer() {
        case .none, .sync: return false
        case .dead:
            lose(connection)
            return false
        case .outcome(.failure(let error)):
            connection.scriptFailure = connection.scriptFailure ?? error
        case .outcome: break
        case .end:
            guard connection.isUp else {
                lose(connection)
                return false
            }
            endScript(on: connection)
        }
        return true
    }

    private func endScript(on connection: Connection) {
        let (job, failure) = (connection.script, connection.scriptFailure)
        let isAlive = connection.endScript()
        if let job {
            let isWithdrawn = job.isCancelled && failure?.code == .statementTimeout
            if let failure {
                finish(job, .failure(isWithdrawn ? CancellationError() : failure))
            } else {
                finish(job, Self.nothing)
            }
        }
        if !isAlive { lose(connection) }
    }

    /// The answer to what did not have to be sent, or has no rows.
    static var nothing: Result<ResultBox, any Error> {
        ResultBox.empty().map { .success($0) } ?? .failure(DatabaseError(.overloaded, detail: "out of memory"))
    }
}
