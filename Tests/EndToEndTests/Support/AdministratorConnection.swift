import CPostgres
import Foundation
import Synchronization

/// An administrator's connection to the PostgreSQL of an installation, kept from statement to statement: a `psql` for each would cost more than
/// what it asks. One that was lost is made anew.
final class AdministratorConnection: Sendable {
    private let parameters: String
    private let queue = DispatchQueue(label: "administrator")
    private let handle = Mutex<Handle?>(nil)

    /// libpq's connection, used on the queue only.
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// - Parameter parameters: libpq's connection string.
    init(_ parameters: String) { self.parameters = parameters }

    deinit { handle.withLock { if let open = $0 { PQfinish(open.pointer) } } }

    /// What `psql -At` would print: one line a row, columns apart by `|`. Several statements are one transaction.
    func ask(_ statement: String) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                continuation.resume(
                    with: Result {
                        // Its server may have been killed for another test. Only a question can be asked twice.
                        let question = statement.hasPrefix("SELECT") ? statement : "SELECT"
                        do {
                            let answer = try self.answer(question)
                            if question == statement { return answer }
                        } catch  where !self.isConnected {}
                        return try self.answer(statement)
                    }
                )
            }
        }
    }

    private func answer(_ statement: String) throws -> String {
        let connection = try connected()
        do {
            let lines = try Self.lines(of: statement, connection)
            // What a statement has set holds for itself only.
            if statement.contains("SET ") { _ = try Self.lines(of: "RESET ALL", connection) }
            return lines.joined(separator: "\n").trimmingCharacters(in: .newlines)
        } catch {
            if PQstatus(connection) != CONNECTION_OK { close() }
            throw error
        }
    }

    private func connected() throws -> OpaquePointer {
        if let open = handle.withLock({ $0 }) {
            if Self.isUsable(open.pointer) { return open.pointer }
            close()
        }
        guard let pointer = PQconnectdb(parameters) else { throw Guardian.Failure(description: "no memory for a connection") }
        guard PQstatus(pointer) == CONNECTION_OK else {
            let reason = String(cString: PQerrorMessage(pointer))
            PQfinish(pointer)
            throw Guardian.Failure(description: reason)
        }
        PQsetNoticeProcessor(pointer, { _, _ in }, nil)
        handle.withLock { $0 = Handle(pointer: pointer) }
        return pointer
    }

    private var isConnected: Bool { handle.withLock { $0 != nil } }

    private func close() {
        handle.withLock { open in
            if let open { PQfinish(open.pointer) }
            open = nil
        }
    }

    /// Whether the server has not ended it since.
    private static func isUsable(_ connection: OpaquePointer) -> Bool {
        guard PQconsumeInput(connection) == 1 else { return false }
        return PQstatus(connection) == CONNECTION_OK
    }

    private static func lines(of statement: String, _ connection: OpaquePointer) throws -> [String] {
        guard PQsendQuery(connection, statement) == 1 else {
            throw Guardian.Failure(description: String(cString: PQerrorMessage(connection)))
        }
        var (lines, failure): ([String], String?) = ([], nil)
        while let result = PQgetResult(connection) {
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK:
                lines += (0..<PQntuples(result)).map { row in
                    (0..<PQnfields(result)).map { String(cString: PQgetvalue(result, row, $0)) }.joined(separator: "|")
                }
            case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
            default: failure = failure ?? String(cString: PQresultErrorMessage(result))
            }
        }
        if let failure { throw Guardian.Failure(description: failure) }
        return lines
    }
}
