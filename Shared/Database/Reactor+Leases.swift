/// Leases of connections for transactions and sessions. Only on the loop's thread.
extension Reactor {
    /// A statement of a transaction or session; the first one requests the connection.
    func route(_ job: Job, on lease: Lease) {
        guard !lease.hasFailed || job.role == .rollback else { return refuse(job, of: lease) }
        switch lease.state {
        case .idle:
            guard !job.role.endsLease else { return endUnused(lease, job) }
            guard !job.role.isCleanUp else { return }
            guard !isAway else { return finish(job, .failure(DatabaseError(.unavailable))) }
            guard leaseQueue.count < configuration.maximumWaiting else {
                return finish(job, .failure(DatabaseError(.overloaded)))
            }
            lease.state = .waiting
            lease.deadline = now + configuration.acquireTimeout.nanoseconds
            leaseQueue.append(lease)
            park(job, on: lease)
        case .waiting:
            // A commit follows the queued statements before it.
            guard job.role == .commit || !job.role.endsLease else { return endUnused(lease, job) }
            guard !lease.isEnding else { return finish(job, .failure(DatabaseError(.leaseEnded))) }
            lease.isEnding = job.role.endsLease
            park(job, on: lease)
        case .held(let slot):
            guard let connection = connections[slot], connection.lease === lease else {
                return finish(job, .failure(DatabaseError(.connectionLost)))
            }
            // After the commit it would run outside the transaction.
            guard !lease.isEnding else { return finish(job, .failure(DatabaseError(.leaseEnded))) }
            lease.isEnding = job.role.endsLease
            job.place = .held
            connection.held.append(job)
            sendHeld(on: connection)
        case .lost(let error):
            // Uncommitted changes are rolled back already.
            guard job.role == .commit || !job.role.endsLease else { return endUnused(lease, job) }
            finish(job, .failure(error))
        case .ended:
            finish(job, .failure(DatabaseError(.leaseEnded)))
        }
    }

    /// A queued statement of the transaction has failed: what follows does not run, and the rollback is still to come.
    private func refuse(_ job: Job, of lease: Lease) {
        if job.role.endsLease { lease.isEnding = false }
        switch lease.state {
        case .lost(let error): finish(job, .failure(error))
        case .ended: finish(job, .failure(DatabaseError(.leaseEnded)))
        case .idle, .waiting, .held: finish(job, .failure(DatabaseError(.transactionAborted)))
        }
    }

    private func park(_ job: Job, on lease: Lease) {
        job.place = .held
        lease.parked.append(job)
    }

    /// Ends a lease that has no connection.
    private func endUnused(_ lease: Lease, _ job: Job) {
        drop(lease, .ended, DatabaseError(.leaseEnded))
        finish(job, Self.nothing)
    }

    /// Removes a lease from the queue and fails its waiting statements.
    func drop(_ lease: Lease, _ state: Lease.State, _ error: DatabaseError) {
        if case .waiting = lease.state { _ = leaseQueue.removeAll { $0 === lease } }
        lease.state = state
        let parked = lease.parked
        lease.parked = []
        for job in parked { finish(job, .failure(error)) }
    }

    /// Leases connections in the order of the requests; some always stay reserved for single statements.
    func grantLeases() {
        while let lease = leaseQueue.first, let connection = lendable() {
            // Other statements may still be in flight on it; the lease's statements wait behind them. The lease keeps waiting while
            // those can fail.
            guard prepare(connection, isAlone: true) else { continue }
            leaseQueue.removeFirst()
            lease.state = .held(slot: connection.slot)
            connection.lease = lease
            if let prologue = lease.prologue {
                let job = Job(text: prologue, role: .housekeeping, lease: lease)
                job.statement = registry.statement(prologue)
                connection.held.append(job)
            }
            for job in lease.parked { connection.held.append(job) }
            lease.parked = []
            sendHeld(on: connection)
        }
    }

    private func lendable() -> Connection? {
        var (up, leased) = (0, 0)
        for case let connection? in connections {
            up += 1
            if connection.lease != nil { leased += 1 }
        }
        guard up > 0, leased < up - min(configuration.minimumShared, up - 1) else { return nil }
        return leastLoaded(below: .max)
    }

    /// Sends a lease's statement, unless a script or a cancellation is running.
    func sendHeld(on connection: Connection) {
        while connection.isReady, let job = connection.held.first {
            if job.role == .commit, let lease = job.lease, lease.hasFailed {
                connection.held.removeFirst()
                refuse(job, of: lease)
                continue
            }
            if job.role == .script {
                guard connection.pipeline.isEmpty else { return }
                guard connection.leavePipeline() else { return lose(connection) }
                connection.held.removeFirst()
                job.place = .inFlight(slot: connection.slot)
                connection.lastProgress = now
                mark(connection)
                guard connection.sendScript(job) else { return lose(connection) }
                return
            }
            if job.role.isRollback {
                // Whether a transaction is open is known once everything is answered.
                guard connection.pipeline.isEmpty else { return }
                if connection.isOutsideTransaction {
                    connection.held.removeFirst()
                    finish(job, Self.nothing)
                    if job.role.endsLease { return release(connection) }
                    continue
                }
            }
            // An earlier failure must not skip the end. A session's statements fail alone.
            let isAlone = job.role.endsLease || connection.lease?.kind == .session
            guard prepare(connection, isAlone: isAlone) else { return }
            connection.held.removeFirst()
            hand(job, to: connection, syncing: isAlone)
        }
    }

    /// The lease is over: the connection returns to the pool, if it is clean.
    func release(_ connection: Connection) {
        connection.lease?.state = .ended
        connection.lease = nil
        while let job = connection.held.popFirst() { finish(job, .failure(DatabaseError(.leaseEnded))) }
        if !connection.pipeline.isEmpty || !connection.isOutsideTransaction { lose(connection) }
    }
}

extension Lease {
    /// Whether a stop must wait for started work.
    var isOpen: Bool {
        if case .held = state { true } else { false }
    }
}
