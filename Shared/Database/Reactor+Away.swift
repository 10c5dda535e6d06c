internal import Logging
internal import Loop

/// A server that cannot be reached: who waits for it is answered at once instead of when its time is up. Only on the loop's thread.
extension Reactor {
    /// A question to a silent server: whether it still takes connections.
    struct Probe {
        let number: UInt64
        let began: UInt64
    }

    /// Whether no connection is up and the last attempt to make one failed. A moment without connections, until the first attempt has
    /// ended, does not count: who waits then is served as soon as there is one.
    var isAway: Bool { recovery.failures > 0 && !connections.contains { $0 != nil } }

    /// Ends everything that waits for a connection.
    func refuseWaiting() {
        while let lease = leaseQueue.first { drop(lease, .lost(DatabaseError(.unavailable)), DatabaseError(.unavailable)) }
        while let job = pending.popFirst() {
            if job.isPending { finish(job, .failure(DatabaseError(.unavailable))) }
        }
    }

    /// A server whose machine is gone, or whose processes are stopped, says nothing: connections stay up, and statements would wait for
    /// their time limits. One that is only busy still takes a further connection, or refuses it.
    func listenForSilence() {
        guard stopDeadline == nil, let since = silentSince else {
            probe = nil
            return
        }
        if let probe {
            if since > probe.began { return self.probe = nil }
            if now >= probe.began + configuration.probeTimeout.nanoseconds { giveUp(silentSince: since) }
        } else if now >= since + configuration.silenceBeforeProbe.nanoseconds {
            startProbe()
        }
    }

    /// Since when the server owes an answer and has said nothing at all; nil when it owes none.
    private var silentSince: UInt64? {
        var oldest: UInt64?
        for case let connection? in connections where connection.isAwaitingServer {
            oldest = min(oldest ?? .max, connection.lastProgress)
        }
        return oldest.map { max($0, lastHeard) }
    }

    private func startProbe() {
        probes += 1
        let (number, mailbox, connector) = (probes, mailbox, connector)
        let isOnItsWay = spawnThread(named: "database-probe") {
            // Any answer will do, a refusal too. Without one the probe ends by its own time.
            switch connector.connect() {
            case .success(let handle): handle.close()
            case .failure(let refusal): if refusal.isSilence { return }
            }
            _ = mailbox.post(.probed(number))
        }
        // Without a thread for it, the time limits of the statements remain.
        if isOnItsWay { probe = Probe(number: number, began: now) }
    }

    private func giveUp(silentSince: UInt64) {
        logger.warning("the database says nothing", metadata: ["milliseconds": "\((now - silentSince) / 1_000_000)"])
        probe = nil
        recovery.gaveUp()
        for case let connection? in connections { lose(connection) }
        if isAway { refuseWaiting() }
    }
}
