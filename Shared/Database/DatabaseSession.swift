internal import Kernel

/// An exclusive connection, valid inside the closure of `Database.withSession`: for advisory locks, settings, several transactions.
///
/// Each statement commits by itself. Settings, locks and temporary tables end with the session.
public final class DatabaseSession: QueryExecutor {
    private let reactor: Reactor
    private let lease: Lease

    init(_ reactor: Reactor, statementTimeout: Interval?) {
        self.reactor = reactor
        lease = Lease(
            .session,
            prologue: statementTimeout.map { "SET statement_timeout = \(max(1, $0.wholeMilliseconds))" },
            statementLimit: (statementTimeout ?? reactor.configuration.statementTimeout).nanoseconds
        )
    }

    public func query(_ query: Query) async throws -> [Row] { try await reactor.perform(query, on: lease).rows }

    @discardableResult
    public func execute(_ query: Query) async throws -> Int { try await reactor.perform(query, on: lease).affectedRows }

    /// Runs several statements, separated by `;`, in one implicit transaction unless they say otherwise. For migrations.
    ///
    /// - Parameter script: trusted SQL, never input.
    func run(script: String) async throws {
        guard !script.utf8.contains(0) else { throw DatabaseError(.invalidValue, detail: "a script with a NUL") }
        _ = try await reactor.perform(Job(text: script, role: .script, lease: lease))
    }

    /// Resets the connection; if that fails, the connection is closed.
    func end() async {
        _ = reactor.mailbox.post(.submit(Job(text: "ROLLBACK", role: .leaveTransaction, lease: lease)))
        for text in ["CLOSE ALL", "UNLISTEN *", "RESET ALL", "DISCARD TEMP"] {
            _ = reactor.mailbox.post(.submit(Job(text: text, role: .cleanUp, lease: lease)))
        }
        _ = try? await reactor.perform(Job(text: "SELECT pg_advisory_unlock_all()", role: .lastCleanUp, lease: lease))
    }
}
