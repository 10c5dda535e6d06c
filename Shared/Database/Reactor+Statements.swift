/// Sending statements and giving their answers back. On the loop's thread only.
extension Reactor {
    /// Reads that share one sync at most: enough to save most of its cost, few enough that the first does not wait for many.
    private static let batch = 16
    /// How long a server may say nothing before a connection counts as stalled, in nanoseconds.
    private static let stall: UInt64 = 10_000_000

    func submit(_ job: Job) {
        if job.isCancelled { return job.finish(.failure(CancellationError())) }
        if stopDeadline != nil, job.lease?.isOpen != true, job.isCancellable {
            return job.finish(.failure(DatabaseError(.stopped)))
        }
        job.statement = job.role == .script ? nil : registry.statement(job.text, types: job.binds.slots.map(\.type.oid))
        if let lease = job.lease { return route(job, on: lease) }
        guard pending.count < configuration.maximumWaiting else { return job.finish(.failure(DatabaseError(.overloaded))) }
        job.place = .pending
        job.deadline = now + configuration.acquireTimeout.nanoseconds
        pending.append(job)
    }

    /// Gives waiting statements and transactions to connections, as far as there are any.
    func dispatch() {
        grantLeases()
        while let job = pending.first {
            guard case .pending = job.place else {
                pending.removeFirst()
                continue
            }
            guard let connection = leastLoaded(below: configuration.maximumInFlight) else { return }
            pending.removeFirst()
            sendShared(job, on: connection)
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

    /// A sync ends an implicit transaction. A change has its own, so that it fails and commits alone; reads may share one, since a read
    /// that was skipped because of another's failure can be sent again.
    private func sendShared(_ job: Job, on connection: Connection) {
        let isAlone = !job.isRead || job.isRetry
        if isAlone, connection.pipeline.unsynced > 0, !connection.sync() { return lose(connection) }
        guard hand(job, to: connection) else { return }
        if isAlone || connection.pipeline.unsynced >= Self.batch, !connection.sync() { lose(connection) }
    }

    /// Hands a statement to libpq. False when that cost the connection.
    func hand(_ job: Job, to connection: Connection) -> Bool {
        guard let statement = job.statement else { return false }
        if connection.pipeline.isEmpty { connection.lastProgress = now }
        if connection.lease == nil { giveBackRetired(on: connection) }
        job.place = .inFlight(slot: connection.slot)
        mark(connection)
        guard connection.send(job, statement, scratch: &scratch) else {
            // libpq took nothing of it, or the connection is gone anyway: it counts as sent, which is the careful answer.
            connection.pipeline.sentExecute(job, isEarly: job.isRead)
            lose(connection)
            return false
        }
        return true
    }

    /// Frees a statement the cache has dropped; never inside a transaction, where a failure would cost it.
    private func giveBackRetired(on connection: Connection) {
        guard connection.pipeline.unsynced == 0, let name = connection.cache.popRetired() else { return }
        let job = Job(text: "DEALLOCATE \(name)", role: .housekeeping)
        if !connection.sendUnprepared(job) || !connection.sync() { lose(connection) }
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
            case .end: if let action = connection.pipeline.receivedEnd() { perform(action, on: connection) }
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
            job.finish(.success(result))
        case .skipped:
            guard job.lease == nil, !job.isRetry else {
                job.finish(.failure(DatabaseError(.transactionAborted)))
                break
            }
            sendAgain(job)
        case .failure(let error):
            if mayPrepareAgain(job, after: error, on: connection) { return sendAgain(job) }
            let isWithdrawn = job.isCancelled && error.code == .statementTimeout
            job.finish(.failure(isWithdrawn ? CancellationError() : error))
            if job.role == .cleanUp || job.role == .lastCleanUp { return lose(connection) }
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
            let (job, failure) = (connection.script, connection.scriptFailure)
            let isAlive = connection.endScript()
            if let failure {
                job?.finish(
                    .failure(job?.isCancelled == true && failure.code == .statementTimeout ? CancellationError() : failure)
                )
            } else if let result = ResultBox.empty() {
                job?.finish(.success(result))
            } else {
                job?.finish(.failure(DatabaseError(.overloaded, detail: "out of memory")))
            }
            if !isAlive { lose(connection) }
        }
        return true
    }
}
