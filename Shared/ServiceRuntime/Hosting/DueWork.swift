internal import Outbox
internal import Runtime

/// What a replica does when the development clock asks (PF-7): everything that is due, and what follows from it here.
struct DueWork: Sendable {
    let jobs: JobRunner
    let relay: OutboxRelay
    let consumers: [EventConsumer]

    /// How long it is waited for what others have sent.
    private static let patience = Duration.seconds(1)

    /// Runs due jobs, sends waiting events, and waits for runs of jobs that were begun otherwise, and for the events that wait here.
    ///
    /// - Throws: what the database or the broker throws: then it is not known what is under way.
    func settle() async throws -> DevelopmentClockAgent.Work {
        var rows = try await jobs.runAllDue()
        rows += try await send()
        rows += try await consume()
        rows += try await send()
        rows += try await relay.backlog()
        // Read last: whatever was done before is in it, by whichever task.
        let done = jobs.activity.dealtWith + relay.published + consumers.reduce(0) { $0 + $1.handled }
        return DevelopmentClockAgent.Work(done: done, underWay: rows)
    }

    /// Sends what waits. - Returns: how many events.
    private func send() async throws -> Int {
        var total = 0
        while true {
            let sent = try await relay.relayBatch()
            if sent == 0 { return total }
            total += sent
        }
    }

    /// Waits for the events that wait here: the next question runs every job again.
    ///
    /// - Returns: how many waited, or wait still.
    private func consume() async throws -> Int {
        let end = ContinuousClock.now + Self.patience
        let waiting = try await EventConsumer.backlog(of: consumers)
        var left = waiting
        while left > 0, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(2))
            left = try await EventConsumer.backlog(of: consumers)
        }
        return max(waiting, left)
    }
}
