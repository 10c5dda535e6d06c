internal import Synchronization

/// How much a transaction sees of others (PostgreSQL manual, 13.2).
public enum Isolation: String, Sendable {
    /// Each statement sees what was committed before it began.
    case readCommitted = "READ COMMITTED"
    /// All statements see what was committed before the first began.
    case repeatableRead = "REPEATABLE READ"
    /// As if transactions ran one after the other.
    case serializable = "SERIALIZABLE"
}

/// An open transaction, valid inside the closure of `Database.transaction`.
///
/// It holds a connection from its first statement on. Statements started together, by tasks of a group, are sent together. After one has failed
/// all others fail with `transactionAborted`, and so does the commit.
public final class Transaction: QueryExecutor {
    private let reactor: Reactor
    private let lease: Lease
    /// A failure after which running the whole again makes sense, even when the body turned it into another error.
    private let mayRunAgain = Atomic(false)

    init(_ reactor: Reactor, _ isolation: Isolation) {
        self.reactor = reactor
        lease = Lease(
            .transaction,
            prologue: "BEGIN ISOLATION LEVEL \(isolation.rawValue)",
            statementLimit: reactor.configuration.statementTimeout.nanoseconds
        )
    }

    public func query(_ query: Query) async throws -> [Row] { try await run(query).rows }

    @discardableResult
    public func execute(_ query: Query) async throws -> Int { try await run(query).affectedRows }

    /// Takes a lock that has only a name, until the transaction ends; whoever has it is waited for, at most the statement time-out. Names
    /// are the schema's own: two installations in one database do not wait for each other.
    public func lock(named name: String) async throws {
        _ = try await query("SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || \(name), 0))")
    }

    private func run(_ query: Query) async throws -> ResultBox {
        do {
            return try await reactor.perform(query, on: lease)
        } catch {
            note(error)
            throw error
        }
    }

    private func note(_ error: any Error) {
        if let error = error as? DatabaseError, error.isRetryable { mayRunAgain.store(true, ordering: .relaxed) }
    }

    /// Whether running the whole again makes sense.
    var isWorthAnotherRun: Bool { mayRunAgain.load(ordering: .relaxed) }

    /// Commits; nothing is sent when there was no statement.
    func commit() async throws {
        do {
            let result = try await reactor.perform(Job(text: "COMMIT", role: .commit, lease: lease))
            // A transaction with a failed statement is rolled back, whatever one asks for.
            guard result.commandTag != "ROLLBACK" else { throw DatabaseError(.transactionAborted) }
        } catch {
            note(error)
            throw error
        }
    }

    /// Rolls back; does nothing when the transaction is over.
    func rollback() async { _ = try? await reactor.perform(Job(text: "ROLLBACK", role: .rollback, lease: lease)) }
}
