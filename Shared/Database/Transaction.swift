internal import Synchronization

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
    private let reactor: Reactor
    private let lease: Lease
    /// A failure after which the whole should be run again, even when the body turned it into another error.
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

    /// Locks a name until the transaction ends (an advisory lock). Waits for the present holder, at most the statement timeout.
    /// Names are local to the schema: two installations in one database do not wait for each other.
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

    /// Whether the whole should be run again.
    var isWorthAnotherRun: Bool { mayRunAgain.load(ordering: .relaxed) }

    /// Commits; nothing is sent when there was no statement.
    func commit() async throws {
        do {
            let result = try await reactor.perform(Job(text: "COMMIT", role: .commit, lease: lease))
            // The server rolls a transaction with a failed statement back, also on commit.
            guard result.commandTag != "ROLLBACK" else { throw DatabaseError(.transactionAborted) }
        } catch {
            note(error)
            throw error
        }
    }

    /// Rolls back; does nothing after the end of the transaction.
    func rollback() async { _ = try? await reactor.perform(Job(text: "ROLLBACK", role: .rollback, lease: lease)) }
}
