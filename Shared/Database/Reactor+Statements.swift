/// Sends statements and returns their answers. Only on the loop's thread.
extension Reactor {
    /// Most reads that share one sync: enough to save most of its cost, few enough that the first read does not wait for many
    /// others.
    private static let batch = 16
    /// How long a server may be silent before a connection counts as stalled, in nanoseconds.
    private static let stall: UInt64 = 10_000_000

    func submit(_ job: Job) {
        accept(job)
        if job.isCancelled { return finish(job, .failure(CancellationError())) }
        if stopDeadline != nil, job.lease?.isOpen != true, job.isCancellable {
            return finish(job, .failure(DatabaseError(.stopped)))
        }
        if job.role != .script { job.statement = registry.statement(job.text, types: job.binds.slots.map(\.type.oid)) }
        if let lease = job.lease { return route(job, on: lease) }
        guard !isAway else { return finish(job, .failure(DatabaseError(.unavailable))) }
        guard pending.count < configuration.maximumWaiting else { return finish(job, .failure(DatabaseError(.overloaded))) }
        job.place = .pending
        pending.append(job)
    }

    /// Assigns waiting statements and transactions to connections, as far as possible.
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
            hand(merged(job), to: connection, syncing: isAlone || connection.pipeline.unsynced + 1 >= Self.batch)
        }
    }

    /// The shared connection with the fewest statements. A connection with a slow first statement is used only if all have one,
    /// because new statements wait behind it.
    func leastLoaded(below limit: Int) -> Connection? {
        var best: (connection: Connection, cost: Int)?
        for case let connection? in connections where connection.lease == nil && connection.isReady && connection.load < limit {
            let isStalled = connection.load > 0 && now > connection.lastProgress + Self.stall
            let cost = connection.load + (isStalled ? 1 << 32 : 0)
            if cost < (best?.cost ?? .max) { best = (connection, cost) }
        }
        return best?.connection
    }

    /// Prepares a connection for the next statement: ends a batch that the statement must not share, and frees a statement that the
    /// cache has dropped. False when the connection was lost. The statement stays in its queue meanwhile, so that another
    /// connection can send it.
    func prepare(_ connection: Connection, isAlone: Bool) -> Bool {
        if connection.pipeline.isEmpty { connection.lastProgress = now }
        mark(connection)
        if isAlone, connection.pipeline.unsynced > 0, !connection.sync() {
            lose(connection)
            return false
        }
        // Never inside a transaction, which a failure would abort.
        guard connection.lease == nil, connection.pipeline.unsynced == 0, let name = connection.cache.popRetired() else {
            return true
        }
        guard connection.sendUnprepared(Job(text: "DEALLOCATE \(name)", role: .housekeeping)), connection.sync() else {
            lose(connection)
            return false
        }
        return true
    }

    /// Moves a statement from its queue to the connection and passes it to libpq, with a sync after it if needed.
    func hand(_ job: Job, to connection: Connection, syncing: Bool) {
        job.place = .inFlight(slot: connection.slot)
        for lookup in job.lookups { lookup.place = job.place }
        let statement = job.statement ?? registry.statement(job.text, types: job.binds.slots.map(\.type.oid))
        guard connection.send(job, statement, scratch: &scratch), !syncing || connection.sync() else { return lose(connection) }
    }

    func mark(_ connection: Connection) {
        guard !connection.isMarked else { return }
        connection.isMarked = true
        marked.append(connection)
    }

    /// Ends open batches and flushes.
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

    /// The socket is ready: reads and handles the answers.
    func answer(on connection: Connection) {
        let isAlive = connection.read()
        if isAlive, connection.watchesWriting { write(on: connection) }
        connection.lastProgress = now
        lastHeard = now
        while connections[connection.slot] === connection, !connection.pipeline.isEmpty || connection.script != nil {
            if connection.script != nil {
                guard answerScript(on: connection) else { break }
                continue
            }
            switch connection.nextAnswer() {
            case .outcome(let outcome): connection.pipeline.received(outcome)
            case .end:
                // When libpq finds the connection closed, it drops its queue and never answers.
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
        guard job.lookups.isEmpty else { return deliverLookups(of: job, outcome, on: connection) }
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
            if error.isServerUnable { exhaustedAt.store(now, ordering: .relaxed) }
            if mayPrepareAgain(job, after: error, on: connection) { return sendAgain(job) }
            let isWithdrawn = job.isCancelled && error.code == .statementTimeout
            finish(job, .failure(isWithdrawn ? CancellationError() : error))
            if job.role.isCleanUp { return lose(connection) }
            // Statements after a failed BEGIN would run, and commit, outside any transaction.
            if job.role == .housekeeping, job.lease?.kind == .transaction { return lose(connection) }
        }
        if job.role.endsLease { release(connection) }
    }

    /// Whether the statement failed before it ran, only because its prepared form was missing or outdated. Removes that form.
    func mayPrepareAgain(_ job: Job, after error: DatabaseError, on connection: Connection) -> Bool {
        let isUnknown = error.sqlState == "26000"
        guard let statement = job.statement, let name = job.statementName,
            isUnknown || error.sqlState == DatabaseError.stalePlanState
        else { return false }
        connection.cache.remove(statement.id, named: name, retiring: !isUnknown)
        return job.lease == nil && !job.isRetry
    }

    /// Requeues a single statement that had no effect, once, alone in its sync.
    func sendAgain(_ job: Job) {
        guard job.isUnanswered else { return job.place = .over }
        guard !isAway else { return finish(job, .failure(DatabaseError(.unavailable))) }
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

    /// The answer to a statement that was not sent, or has no rows.
    static var nothing: Result<ResultBox, any Error> {
        ResultBox.empty().map { .success($0) } ?? .failure(DatabaseError(.overloaded, detail: "out of memory"))
    }
}
