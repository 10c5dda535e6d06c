/// The isolation level of a transaction (PostgreSQL manual, 13.2).
public enum Isolation: String, Sendable {
    /// Each statement sees changes committed before it began.
    case readCommitted = "READ COMMITTED"
    /// All statements see changes committed before the first began.
    case repeatableRead = "REPEATABLE READ"
    /// As if transactions ran one after the other.
    case serializable = "SERIALIZABLE"
}

/// An open transaction, valid inside the closure of `Database.transaction`.
///
/// It holds a connection from its first statement on. Statements of concurrent tasks are sent together. After one fails, all others
/// and the commit fail with `transactionAborted`.
public final class Transaction: QueryExecutor {
    private enum Kind {
        case own(Reactor, Lease, StatementQueue)
        case shared(SharedTransaction)
    }

    private let kind: Kind

    init(_ reactor: Reactor, _ isolation: Isolation) {
        let lease = Lease(reactor, isolation)
        kind = .own(reactor, lease, StatementQueue(reactor, lease))
    }

    init(_ shared: SharedTransaction) { kind = .shared(shared) }

    public func query(_ query: Query) async throws -> [Row] { try await run(query).rows }

    @discardableResult
    public func execute(_ query: Query) async throws -> Int { try await run(query).affectedRows }

    /// Queues a statement without waiting for it: it is sent with the next statement that is waited for, or with the commit, and runs
    /// before it, in the order of the queue. So many statements cost one round trip.
    ///
    /// When it fails, nothing after it runs; the next statement that is waited for, or the commit, throws its error, as if it had been waited
    /// for itself. So do not queue what is expected to fail, such as an insert whose refusal is caught. When the transaction is rolled back
    /// first, it is never sent.
    ///
    /// - Returns: where its answer can be asked for.
    /// - Throws: `DatabaseError` `invalidValue` when it has a value that PostgreSQL cannot hold.
    @discardableResult
    public func enqueue(_ query: Query) throws -> QueuedStatement {
        switch kind {
        case .own(_, _, let queue): try queue.append(query)
        case .shared(let shared): try shared.append(query)
        }
    }

    /// In one round trip.
    public func query(together queries: [Query]) async throws -> [[Row]] {
        let queued = try queries.map { try enqueue($0) }
        var rows: [[Row]] = []
        for statement in queued { rows.append(try await statement.rows()) }
        return rows
    }

    /// Locks a name until the transaction ends (an advisory lock). Waits for the present holder, at most the statement timeout.
    /// Names are local to the schema: two installations in one database do not wait for each other.
    public func lock(named name: String) async throws { _ = try await query(Self.lock(name)) }

    /// Queues the same: the lock is taken before the next statement that is waited for.
    ///
    /// - Throws: as `enqueue`.
    public func enqueueLock(named name: String) throws { try enqueue(Self.lock(name)) }

    private static func lock(_ name: String) -> Query {
        "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || \(name), 0))"
    }

    private func run(_ query: Query) async throws -> ResultBox {
        guard case .own(let reactor, let lease, let queue) = kind else { return try await enqueue(query).result() }
        do {
            let result = try await reactor.perform(try Job(query, lease: lease), submit: queue.send(with:))
            queue.succeeded()
            return result
        } catch {
            throw queue.cause(of: error)
        }
    }

    /// Whether the whole should be run again.
    var isWorthAnotherRun: Bool {
        switch kind {
        case .own(_, _, let queue): queue.isWorthAnotherRun
        case .shared: false
        }
    }

    /// Commits, after what is queued; nothing is sent when there was no statement.
    func commit() async throws {
        guard case .own(let reactor, let lease, let queue) = kind else { return }
        do {
            // A commit is not cancelled; what it waits for is.
            let result = try await withTaskCancellationHandler {
                try await reactor.perform(Job(text: "COMMIT", role: .commit, lease: lease), submit: queue.send(with:))
            } onCancel: {
                queue.cancel()
            }
            try result.checkCommitted()
        } catch {
            throw queue.cause(of: error)
        }
    }

    /// Rolls back; does nothing after the end of the transaction.
    func rollback() async {
        guard case .own(let reactor, let lease, let queue) = kind else { return }
        queue.discard()
        _ = try? await reactor.perform(Job(text: "ROLLBACK", role: .rollback, lease: lease))
    }
}

extension Lease {
    /// Of a transaction.
    convenience init(_ reactor: Reactor, _ isolation: Isolation) {
        self.init(
            .transaction,
            prologue: "BEGIN ISOLATION LEVEL \(isolation.rawValue)",
            statementLimit: reactor.configuration.statementTimeout.nanoseconds
        )
    }
}

extension ResultBox {
    /// The server rolls a transaction with a failed statement back, also on commit.
    ///
    /// - Throws: `transactionAborted`.
    func checkCommitted() throws(DatabaseError) {
        guard commandTag != "ROLLBACK" else { throw DatabaseError(.transactionAborted) }
    }
}
