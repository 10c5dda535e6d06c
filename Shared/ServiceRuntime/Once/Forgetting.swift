public import Database
public import Kernel

extension Mutations {
    /// Deletes every reply that is about a user (AU-7), within a transaction of the service's own.
    public static func forget(caller: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM stored_reply WHERE user_id = \(caller)")
    }
}
