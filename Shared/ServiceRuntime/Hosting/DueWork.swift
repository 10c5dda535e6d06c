internal import Outbox
internal import Runtime

/// What a replica does when the development clock asks (PF-7): everything that is due, and what follows from it here.
struct DueWork: Sendable {
    let jobs: JobRunner
    let relay: OutboxRelay
    let consumers: [EventConsumer]

    /// Runs due jobs, sends waiting events, and waits for runs of jobs that were begun otherwise.
    ///
    /// - Throws: what the database or the broker throws: then it is not known what is under way.
    func settle() async throws -> DevelopmentClockAgent.Work {
        var rows = try await jobs.runAllDue()
        while true {
            let sent = try await relay.relayBatch()
            rows += sent
            if sent == 0 { break }
        }
        for consumer in consumers { rows += try await consumer.backlog() }
        rows += try await relay.backlog()
        // Read last: whatever was done before is in it, by whichever task.
        let done = jobs.activity.dealtWith + relay.published + consumers.reduce(0) { $0 + $1.handled }
        return DevelopmentClockAgent.Work(done: done, underWay: rows)
    }
}
