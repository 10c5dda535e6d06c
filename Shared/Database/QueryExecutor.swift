internal import Loop

/// Runs statements: the database itself, a transaction, or a session. Repositories accept any of them where possible.
public protocol QueryExecutor: Sendable {
    /// Runs a statement and returns its rows.
    ///
    /// - Throws: `DatabaseError`; `CancellationError` when the task is cancelled and the statement had no effect.
    func query(_ query: Query) async throws -> [Row]

    /// Runs a statement and returns the number of rows it changed.
    ///
    /// - Throws: `DatabaseError`; `CancellationError` when the task is cancelled and the statement had no effect.
    @discardableResult
    func execute(_ query: Query) async throws -> Int

    /// Runs a statement that finds a few rows by their keys, and returns them. Where statements are sent one by one, those of one text that wait
    /// at the same time are sent as one.
    ///
    /// - Throws: as `query`.
    func lookup(_ query: Query) async throws -> [Row]

    /// Runs statements that only read, of which none needs the answer of another, in as few round trips as this can.
    ///
    /// - Returns: the rows of each, in the order of `queries`.
    /// - Throws: as `query`; the first failure.
    func query(together queries: [Query]) async throws -> [[Row]]
}

extension QueryExecutor {
    /// As any statement.
    public func lookup(_ query: Query) async throws -> [Row] { try await self.query(query) }

    /// One after the other.
    public func query(together queries: [Query]) async throws -> [[Row]] {
        var rows: [[Row]] = []
        for query in queries { rows.append(try await self.query(query)) }
        return rows
    }
}

extension Reactor {
    /// Sends a query and waits for its answer.
    func perform(_ query: Query, on lease: Lease? = nil, isLookup: Bool = false) async throws -> ResultBox {
        try await perform(try Job(query, lease: lease, isLookup: isLookup))
    }

    /// Submits a job, waits for its end, and notifies the observer.
    ///
    /// - Parameter submit: gives it to the loop; false when the loop has ended.
    func perform(_ job: Job, submit: ((Job) -> Bool)? = nil) async throws -> ResultBox {
        guard let observer, let kind = StatementKind(job.role) else { return try await outcome(of: job, submit) }
        let start = monotonicNanoseconds()
        func end(_ error: DatabaseError.Code?) {
            observer.statementEnded(kind, error: error, duration: .nanoseconds(Int64(clamping: monotonicNanoseconds() - start)))
        }
        do {
            let result = try await outcome(of: job, submit)
            end(nil)
            return result
        } catch {
            // A cancelled statement is not a failure.
            if let error = error as? DatabaseError { end(error.code) }
            throw error
        }
    }

    private func outcome(of job: Job, _ submit: ((Job) -> Bool)?) async throws -> ResultBox {
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                job.continuation = continuation
                let isSubmitted = submit?(job) ?? mailbox.post(.submit(job))
                if !isSubmitted { job.answer(.failure(DatabaseError(.stopped))) }
            }
        } onCancel: {
            _ = mailbox.post(.cancel(job))
        }
    }
}

extension Job {
    /// - Throws: `DatabaseError` `invalidValue` when it cannot be sent.
    convenience init(_ query: Query, lease: Lease?, isLookup: Bool = false) throws {
        if let failure = query.failure { throw failure }
        // The protocol counts values in 16 bits, and sizes in 31.
        guard query.bindCount <= 65_535, query.binds.bytes.count < 1 << 30 else {
            throw DatabaseError(.invalidValue, detail: "too many values")
        }
        self.init(text: query.text, binds: query.binds, lease: lease, isLookup: isLookup)
    }
}
