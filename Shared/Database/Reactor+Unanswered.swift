internal import Logging

/// All unanswered jobs. Only on the loop's thread.
///
/// A job with a waiting caller is always in exactly one place, and each place has an end: `pending` and leases without a connection
/// have `acquireTimeout`; a job on a connection is answered by the server or ended by `lose`. Moving a job takes two steps, with no
/// call to libpq between them, because such a call may lose the connection. This list is the safety net: a job behind many others,
/// each within its limits, also ends in bounded time.
extension Reactor {
    /// The margin for an answer, in addition to the time limits for waiting and running. The loop's check of the connection ends a
    /// job earlier, with a more precise error.
    private static let answerGrace: UInt64 = silenceGrace + 1_000_000_000
    /// The poll interval of the list, in nanoseconds.
    static let sweep: UInt64 = 1_000_000_000

    /// The loop has received a job.
    func accept(_ job: Job) {
        job.submitted = now
        if job.isUnanswered { unanswered.insert(job) }
    }

    /// Resumes the job's caller, once.
    func finish(_ job: Job, _ result: Result<ResultBox, any Error>) {
        unanswered.remove(job)
        // Its caller goes on as if it had succeeded.
        if job.queued != nil, case .failure = result { job.lease?.hasFailed = true }
        job.answer(result)
    }

    /// The error for a sent statement that will not be answered.
    func errorOfLost(_ job: Job) -> DatabaseError {
        switch (job.lease?.kind, job.role) {
        case (_, .commit): DatabaseError(.outcomeUnknown)
        // Without a commit the transaction has no effect.
        case (_, .rollback), (.transaction, _): DatabaseError(.connectionLost)
        default: DatabaseError(job.isRead ? .connectionLost : .outcomeUnknown)
        }
    }

    /// Ends jobs that are unanswered for longer than any job may take.
    func endOverdue() {
        for job in unanswered.jobs where answerDeadline(of: job) <= now && job.isUnanswered {
            logger.error("a statement was not answered in time", metadata: ["place": "\(job.place)"])
            guard let lease = job.lease else {
                // The connection, which others share, may still run it.
                finish(job, .failure(DatabaseError(job.isRead ? .statementTimeout : .outcomeUnknown)))
                continue
            }
            switch lease.state {
            case .held(let slot):
                if let connection = connections[slot], connection.lease === lease { lose(connection) }
            case .waiting:
                drop(lease, .lost(DatabaseError(.leaseTimeout)), DatabaseError(.leaseTimeout))
            case .idle, .lost, .ended: break
            }
            finish(job, .failure(errorOfLost(job)))
        }
    }

    /// When its caller gets an answer at the latest.
    private func answerDeadline(of job: Job) -> UInt64 {
        let limit = job.lease?.statementLimit ?? configuration.statementTimeout.nanoseconds
        return job.submitted + configuration.acquireTimeout.nanoseconds + limit + Self.answerGrace
    }
}

/// The jobs whose callers wait, in no order. Adding and removing take constant time, and allocate nothing once it has grown.
struct UnansweredJobs {
    private(set) var jobs: [Job] = []

    var isEmpty: Bool { jobs.isEmpty }

    mutating func insert(_ job: Job) {
        job.position = jobs.count
        jobs.append(job)
    }

    /// Does nothing when the job is not in the list.
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
