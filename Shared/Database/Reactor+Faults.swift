internal import Logging
internal import Loop

/// Commands, cancellation, lost connections, waits and the end. Only on the loop's thread.
extension Reactor {
    func obey(_ command: Mailbox.Command) {
        switch command {
        case .submit(let job): submit(job)
        case .cancel(let job): cancel(job)
        case .connected(let handle): connected(handle)
        case .refused(let refusal): refused(refusal)
        case .cancellationSent(let slot, let generation):
            guard let connection = connections[slot], connection.generation == generation else { return }
            connection.cancelDeadline = nil
            sendHeld(on: connection)
        case .probed(let number):
            guard probe?.number == number else { return }
            probe = nil
            lastHeard = now
        case .stop(let waiter):
            stopWaiters.append(waiter)
            stopDeadline = stopDeadline ?? now + configuration.stopTimeout.nanoseconds
        case .abandon:
            stopDeadline = stopDeadline ?? now + configuration.stopTimeout.nanoseconds
        }
    }

    // MARK: cancellation

    /// The caller's task was cancelled. An unsent statement is withdrawn. A running one is cancelled on the server if that can hit
    /// nothing else; otherwise a read is abandoned, and a change is awaited so that its outcome is known.
    private func cancel(_ job: Job) {
        guard job.isCancellable, !job.isCancelled else { return }
        job.isCancelled = true
        switch job.place {
        case .new, .over: break
        case .pending: finish(job, .failure(CancellationError()))
        case .held: withdraw(job)
        case .inFlight(let slot):
            guard let connection = connections[slot] else { return }
            if mayStopFirst(of: connection) {
                stopOnServer(connection)
            } else if job.isRead, job.lease == nil {
                finish(job, .failure(CancellationError()))
            }
        }
    }

    /// Whether a cancelled statement is running, and cancelling it on the server can hit no other.
    private func mayStopFirst(of connection: Connection) -> Bool {
        guard let first = connection.script ?? connection.pipeline.first else { return false }
        switch first.lease?.kind {
        case .transaction:
            // The server holds back answers until a sync, so any of the transaction's statements may be running. The transaction is
            // lost anyway.
            return connection.pipeline.contains { $0.isCancelled && $0.lease === first.lease }
        case .session: return first.isCancelled
        case nil: return first.isCancelled && connection.load == 1
        }
    }

    private func withdraw(_ job: Job) {
        guard let lease = job.lease else { return }
        if case .held(let slot) = lease.state {
            _ = connections[slot]?.held.removeAll { $0 === job }
        } else {
            lease.parked.removeAll { $0 === job }
            if lease.parked.isEmpty, case .waiting = lease.state { drop(lease, .idle, DatabaseError(.leaseEnded)) }
        }
        finish(job, .failure(CancellationError()))
    }

    /// Nothing is sent on the connection until the server has the cancellation, which hits whatever runs when it arrives. If it
    /// fails, the connection is closed.
    private func stopOnServer(_ connection: Connection) {
        guard connection.cancelDeadline == nil, let canceller = connection.canceller() else { return }
        let (mailbox, slot, generation) = (mailbox, connection.slot, connection.generation)
        let isOnItsWay = spawnThread(named: "database-cancel") {
            canceller.run()
            _ = mailbox.post(.cancellationSent(slot: slot, generation: generation))
        }
        if isOnItsWay { connection.cancelDeadline = now + configuration.connectTimeout.nanoseconds }
    }

    // MARK: connections

    /// Starts the next attempt to connect, if one is due.
    func connectNext() {
        guard stopDeadline == nil, recovery.nextAttempt(now: now) != nil else { return }
        let (mailbox, connector) = (mailbox, connector)
        let spawned = spawnThread(named: "database-connect") {
            switch connector.connect() {
            case .success(let handle): if !mailbox.post(.connected(handle)) { handle.close() }
            case .failure(let refusal): _ = mailbox.post(.refused(refusal))
            }
        }
        if !spawned { refused(Connector.Refusal(reason: "no more threads")) }
    }

    private func connected(_ handle: Connector.Handle) {
        guard let slot = recovery.attempting, stopDeadline == nil else { return handle.close() }
        lastHeard = now
        if recovery.failures > 0 { logger.notice("the database is back", metadata: ["failedAttempts": "\(recovery.failures)"]) }
        recovery.succeeded()
        generations += 1
        let connection = Connection(
            slot: slot,
            generation: generations,
            handle: handle,
            cacheSize: configuration.statementCacheSize
        )
        connections[slot] = connection
        watch(connection)
        if !recovery.isBusy { endFirstAttempt() }
    }

    private func refused(_ refusal: Connector.Refusal) {
        recovery.failed(now: now)
        // Logs the first failure, then fewer and fewer: a server that is down for hours should not fill the log.
        if recovery.failures & (recovery.failures - 1) == 0 {
            logger.warning(
                "cannot connect to the database",
                metadata: ["reason": "\(refusal.reason)", "failedAttempts": "\(recovery.failures)"]
            )
        }
        endFirstAttempt()
        if isAway { refuseWaiting() }
    }

    private func endFirstAttempt() {
        firstAttempt?.resume()
        firstAttempt = nil
    }

    /// A connection was lost: ends every statement on it with what is known, and requests a new connection.
    func lose(_ connection: Connection) {
        guard connections[connection.slot] === connection else { return }
        connections[connection.slot] = nil
        unwatch(connection)
        recovery.lost(connection.slot)
        health.connectionsLost += 1
        if stopDeadline == nil {
            logger.warning("lost a connection to the database", metadata: ["inFlight": "\(connection.load)"])
        }
        if let lease = connection.lease { drop(lease, .lost(DatabaseError(.connectionLost)), DatabaseError(.connectionLost)) }
        connection.lease = nil
        let (failed, unknown) = connection.pipeline.lost()
        for (job, error) in failed {
            if job.lookups.isEmpty { finish(job, .failure(error)) } else { orphaned(job) }
        }
        for job in unknown { orphaned(job) }
        if let script = connection.script { finish(script, .failure(DatabaseError(.outcomeUnknown))) }
        while let job = connection.held.popFirst() { finish(job, .failure(DatabaseError(.connectionLost))) }
    }

    /// A sent statement will not be answered.
    private func orphaned(_ job: Job) {
        guard job.lookups.isEmpty else { return job.lookups.forEach(orphaned) }
        if job.lease == nil, job.isRead, !job.isRetry, !job.isCancelled { return sendAgain(job) }
        finish(job, .failure(errorOfLost(job)))
    }

    // MARK: waits

    /// Ends statements that have waited too long.
    func lookAtWaits() {
        listenForSilence()
        let limit = connections.contains { $0 != nil } ? configuration.acquireTimeout : configuration.reconnectWait
        let wait = min(limit, configuration.acquireTimeout).nanoseconds
        let latest = now - min(now, wait)
        while let job = pending.first, job.submitted <= latest || !job.isPending {
            pending.removeFirst()
            if job.isPending { finish(job, .failure(DatabaseError(.unavailable))) }
        }
        while let lease = leaseQueue.first, lease.deadline + wait <= now + configuration.acquireTimeout.nanoseconds {
            let error = DatabaseError(health.isAvailable ? .leaseTimeout : .unavailable)
            drop(lease, .lost(error), error)
        }
        for case let connection? in connections { look(at: connection) }
        if now >= nextSweep {
            nextSweep = now + Self.sweep
            endOverdue()
        }
    }

    /// A connection may miss an answer that no statement waits for: of a sync, or of a cancellation. Later statements wait for
    /// those too.
    private func look(at connection: Connection) {
        let limit = connection.lease?.statementLimit ?? configuration.statementTimeout.nanoseconds
        if connection.isAwaitingServer, now > connection.lastProgress + limit + Self.silenceGrace { return lose(connection) }
        if let deadline = connection.cancelDeadline, now > deadline { return lose(connection) }
        // It runs only now, or the last cancellation came too early.
        if connection.isReady, connection.load > 0, mayStopFirst(of: connection) { stopOnServer(connection) }
    }

    // MARK: the end

    /// Whether the loop should stop and running statements have ended, or their time is over.
    var isOver: Bool {
        guard let stopDeadline else { return false }
        if now >= stopDeadline { return true }
        return pending.isEmpty && leaseQueue.isEmpty
            && connections.allSatisfy { $0.map { $0.load == 0 && $0.lease == nil } ?? true }
    }

    /// Closes everything and ends all jobs.
    func end() {
        while let lease = leaseQueue.first { drop(lease, .lost(DatabaseError(.stopped)), DatabaseError(.stopped)) }
        for case let connection? in connections { lose(connection) }
        while let job = pending.popFirst() { finish(job, .failure(DatabaseError(.stopped))) }
        for job in unanswered.jobs { finish(job, .failure(errorOfLost(job))) }
        for command in mailbox.shut() {
            switch command {
            case .submit(let job): finish(job, .failure(DatabaseError(.stopped)))
            case .connected(let handle): handle.close()
            case .stop(let waiter): stopWaiters.append(waiter)
            case .cancel, .refused, .cancellationSent, .probed, .abandon: break
            }
        }
        endFirstAttempt()
        health = DatabaseHealth()
        publishHealth()
        for waiter in stopWaiters { waiter.resume() }
        stopWaiters = []
    }
}

extension Job {
    var isPending: Bool {
        if case .pending = place { true } else { false }
    }
}
