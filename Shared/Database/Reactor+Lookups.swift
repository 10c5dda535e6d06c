/// Lookups of one text that wait at the same time are sent as one (`Database.lookup`). Only on the loop's thread.
extension Reactor {
    /// Most lookups that become one.
    private static let mostLookups = 32
    /// How far ahead in the queue others are looked for.
    private static let lookAhead = 64
    /// Most bytes of values of one that becomes a part of another statement.
    fileprivate static let mostBytes = 65_536
    /// Most statements whose form is kept: a text may be made at run time.
    private static let mostForms = 1_000

    /// One statement for a job that has just left the queue and for the lookups of its text that still wait there; the job itself when there
    /// are none.
    func merged(_ job: Job) -> Job {
        guard job.isMergeable, let statement = job.statement, !pending.isEmpty else { return job }
        guard let form = form(of: job, statement) else { return job }
        let others = pending.take(Self.mostLookups - 1, ahead: Self.lookAhead) { other in
            other.isPending && other.isMergeable && other.statement === statement
        }
        guard !others.isEmpty else { return job }
        let lookups = [job] + others
        guard let query = form.merged(lookups.map { Query(text: $0.text, binds: $0.binds) }) else {
            for other in others { pending.append(other) }
            return job
        }
        let one = Job(text: query.text, binds: query.binds, lookups: lookups)
        one.statement = registry.statement(query.text, types: query.binds.slots.map(\.type.oid), isRead: true)
        return one
    }

    private func form(of job: Job, _ statement: Statement) -> MergedStatement? {
        if let known = lookupForms[statement.id] { return known }
        if lookupForms.count >= Self.mostForms { lookupForms.removeAll() }
        let form = MergedStatement(Query(text: job.text, binds: job.binds))
        lookupForms[statement.id] = .some(form)
        return form
    }

    /// The answer to several lookups. When one of them made it fail, each is sent by itself.
    func deliverLookups(of job: Job, _ outcome: Pipeline<Job, ResultBox>.Outcome, on connection: Connection) {
        switch outcome {
        case .success(let result):
            if let form = job.lookups[0].statement.flatMap({ lookupForms[$0.id] ?? nil }),
                let answers = form.answers(result, for: job.lookups.count)
            {
                for (lookup, answer) in zip(job.lookups, answers) { finish(lookup, .success(answer)) }
                return
            }
        case .failure(let error):
            if error.isServerUnable { exhaustedAt.store(now, ordering: .relaxed) }
            let isOutdated = mayPrepareAgain(job, after: error, on: connection)
            // The text is at fault, not a value: it cannot be part of another statement.
            if !isOutdated, error.sqlState?.hasPrefix("42") == true, let statement = job.lookups[0].statement {
                lookupForms[statement.id] = .some(nil)
            }
        case .skipped: break
        }
        job.lookups.forEach(sendAgain)
    }
}

extension Job {
    fileprivate var isMergeable: Bool { isLookup && isRead && !isRetry && binds.bytes.count <= Reactor.mostBytes }
}
