internal import Logging

/// Which jobs are unanswered, whatever became of them. On the loop's thread only.
///
/// A job whose caller waits is always in exactly one place, and each place has something that ends it: `pending` and leases without a
/// connection have `acquireTimeout`; what is on a connection is answered by the server or ended by `lose`. A job changes its place by two
/// steps between which no call to libpq may come, since any such call may cost the connection. The list is the net below that: what is
/// in line behind much else, each within its limits, ends in bounded time too.
extension Reactor {
    /// How much longer than waiting for a connection and running may take together an answer may be away: the loop's own watch over the
    /// connection ends it before, and knows better what happened.
    private static let answerGrace: UInt64 = silenceGrace + 1_000_000_000
    /// How often the list is looked through, in nanoseconds.
    static let sweep: UInt64 = 1_000_000_000

    /// A job has come to the loop.
    func accept(_ job: Job) {
        job.submitted = now
        if job.continuation != nil { unanswered.insert(job) }
    }

    /// Tells the job's caller, once.
    func finish(_ job: Job, _ result: Result<ResultBox, any Error>) {
        unanswered.remove(job)
        job.answer(result)
    }

    /// What is known about a statement that was sent and will not be answered.
    func errorOfLost(_ job: Job) -> DatabaseError {
        switch (job.lease?.kind, job.role) {
        case (_, .commit): DatabaseError(.outcomeUnknown)
        // Without a commit nothing of the transaction stays.
        case (_, .rollback), (.transaction, _): DatabaseError(.connectionLost)
        default: DatabaseError(job.isRead ? .connectionLost : .outcomeUnknown)
        }
    }

    /// Ends what has been unanswered for longer than anything may take.
    func endOverdue() {
        for job in unanswered.jobs where answerDeadline(of: job) <= now && job.continuation != nil {
            logger.error("a statement was not answered in time", metadata: ["place": "\(job.place)"])
            guard let lease = job.lease else {
                // It may still be made by the connection it is on, which others share.
                finish(job, .failure(DatabaseError(job.isRead ? .statementTimeout : .outcomeUnknown)))
                continue
            }
            switch lease.state {
            case .held(let slot):
                if let connection = connections[slot], connection.lease === lease { lose(connection) }
            case .waiting:
                forget(lease, .lost(DatabaseError(.leaseTimeout)), DatabaseError(.leaseTimeout))
            case .idle, .lost, .ended: break
            }
            finish(job, .failure(errorOfLost(job)))
        }
    }

    /// Until when its caller has an answer.
    private func answerDeadline(of job: Job) -> UInt64 {
        let limit = job.lease?.statementLimit ?? configuration.statementTimeout.nanoseconds
        return job.submitted + configuration.acquireTimeout.nanoseconds + limit + Self.answerGrace
    }
}

/// The jobs whose callers wait, in no order. Adding and removing take constant time, without memory of their own once it has grown.
struct UnansweredJobs {
    private(set) var jobs: [Job] = []

    var isEmpty: Bool { jobs.isEmpty }

    mutating func insert(_ job: Job) {
        job.position = jobs.count
        jobs.append(job)
    }

    /// Does nothing when it is not in the list.
    mutating func remove(_ job: Job) {
        guard job.position >= 0 else { return }
        let last = jobs.removeLast()
        if last !== job {
            jobs[job.position] = last
            last.position = job.position
        }
        job.position = -1
    }
}
