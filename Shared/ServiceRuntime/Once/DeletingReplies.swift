public import Database
public import Kernel

extension Mutations {
    /// Deletes every stored reply that is about a user (AU-7), within a transaction of the service's own.
    public static func deleteReplies(to user: UserID, _ sql: Transaction) async throws {
        _ = try await sql.execute("DELETE FROM stored_reply WHERE user_id = \(user)")
    }
}
