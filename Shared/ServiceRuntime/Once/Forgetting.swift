public import Database
public import Kernel

extension Mutations {
    /// Forgets every reply a person was given (AU-7), within a transaction of the service's own.
    public static func forget(caller: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM stored_reply WHERE caller = \(caller.description)")
    }
}
